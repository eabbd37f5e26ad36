package wire

// SharedTable is a table of the state in which each owner has a share (decision 116). A record
// that is refused with RefusedShare names it in Result.Value.
type SharedTable uint8

// The tables. Numbers never change.
const (
	TableAgents SharedTable = iota + 1
	TableFleets
	TableUsers
	TableStatuses
	TableHolds
	TableReviews
	TableAlerts
	TableSanctions
	TableCases
	SharedTables = TableCases
)

var sharedTableNames = [SharedTables + 1]string{
	TableAgents: "agents", TableFleets: "fleets", TableUsers: "users", TableStatuses: "status_entries", TableHolds: "holds",
	TableReviews: "open_reviews",
	TableAlerts:  "open_alerts", TableSanctions: "sanctions_alerts", TableCases: "sanctions_cases",
}

// String is the table's name in metrics and answers, "" for an unknown table.
func (t SharedTable) String() string {
	if t > SharedTables {
		return ""
	}
	return sharedTableNames[t]
}
