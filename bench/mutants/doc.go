// Command mutants asks whether the tests can fail.
//
// Purpose: each mutant in testdata is a small defect of the product, kept as text,
// with the test that must find it and a word that the test's output must hold.
// The command copies the tree, applies one defect after the other, runs that test
// alone, and prints which were caught. `make mutants` runs it; the tree
// itself is never touched.
//
// May import: the standard library.
// Never: anything else of ours.
package main
