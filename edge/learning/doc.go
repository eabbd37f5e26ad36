// Package learning counts what officers decided, and what became of it.
//
// Purpose: Figures takes decisions, and events that came after them, in the order of the log. It
// gives counts, medians, agreement and reversals, by officer, rule, listed entry, operator and day.
// docs/learning.md says what each figure means.
//
// Map: figures.go counts, write.go gives the figures as members and as rows of a table.
//
// May import: engine, strictjson. Never: a clock, a store, net/http.
package learning
