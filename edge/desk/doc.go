// Package desk builds the records of what officers decide: reviews and their withdrawal, the
// queue's claims and comments, acknowledged alerts, steps of suspicious activity reports.
//
// Purpose: for each decision a type that reads its body and builds its record, or refuses it.
// Whether the decision may be made now (four eyes, claims, a report's state) is judged by the log.
//
// Map: review.go, queue.go, alerts.go and sar.go, each with one kind of decision.
//
// May import: edge, engine, ofac, fsm (states of reports), fsm/leaf (words), fsm/wire, strictjson. Never: net/http, httpapi, cluster.
package desk
