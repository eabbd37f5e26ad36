// Command mutants asks whether the tests can fail.
//
// Purpose: each mutant in testdata is a small defect of the product, kept as text,
// with the test that must find it and a word that must stand in what the test says.
// The command copies the tree, puts one defect after the other in, runs that test
// alone, and prints which were caught. `make mutants` runs it; the tree
// itself is never touched.
//
// May import: the standard library.
// Never: anything of the house.
package main
