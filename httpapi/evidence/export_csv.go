package evidence

import (
	"encoding/hex"
	"strconv"

	"railguard/audit/merkle"
	"railguard/edge"
	"railguard/httpapi/border"
)

// The table form of an export, for spreadsheets: only screening records, with their
// dispositions. It proves nothing; its last row marks it as complete.

var CSVColumns = []string{"index", "leafHashHex", "txnId", "screenedAt", "verdict", "rule", "reason", "agentId", "agentName",
	"operatorLegalName", "credentialStatus", "amount", "chain", "rail", "cpWallet", "cpName", "cpType", "protocol",
	"disposition", "reviewedBy", "reviewedAt", "notes", "sarEscalated", "listVersion", "policyVersion", "ruleSet", "payerWallet", "wallets",
	"cpCountry", "cpRegion", "originCountry", "cpIdentifiers", "memo", "cpAddress"}

// csvEndMark is the first cell of the last row.
const csvEndMark = "end"

// csvEnd makes the last row, which marks a table as complete: the mark, a digest over the
// index and leaf hash of each row, and the number of rows.
func csvEnd(rows uint64, digest [32]byte) []string {
	cells := make([]string, len(CSVColumns))
	cells[0], cells[1], cells[2] = csvEndMark, hex.EncodeToString(digest[:]), strconv.FormatUint(rows, 10)+" rows"
	return cells
}

// writeRow writes a screening record with its disposition as one line of a table.
func (x *Exporter) writeRow(l *edge.Leaf) error {
	var d edge.Leaf
	if later, ok := x.Request.Published().Disposition(l.Index); ok {
		data, err := x.Request.Records().Leaf(x.Request.Context(), later)
		if err != nil {
			return err
		}
		if d, err = x.Request.Judge.OpenLeaf(later, data); err != nil {
			return err
		}
		defer x.Request.Judge.DropLeaf()
	}
	cells := make([]string, 0, len(CSVColumns))
	for _, column := range CSVColumns {
		cells = append(cells, border.CSVCell(csvValue(column, l, &d)))
	}
	return x.csv.Write(cells)
}

func csvValue(column string, l, d *edge.Leaf) string {
	switch column {
	case "index":
		return strconv.FormatUint(l.Index, 10)
	case "leafHashHex": // The hash is in hex, because base64 may begin with a plus sign.
		hash := merkle.Leaf(l.Data)
		return hex.EncodeToString(hash[:])
	case "amount":
		return string(l.Raw("_request", "amount"))
	case "chain", "rail", "cpWallet", "cpName", "cpType", "protocol", "payerWallet", "cpCountry", "cpRegion", "originCountry", "memo", "cpAddress":
		return l.Text("_request", column)
	case "wallets", "cpIdentifiers":
		return string(l.Raw("_request", column))
	case "listVersion", "policyVersion":
		return strconv.FormatUint(l.Number(column), 10)
	case "sarEscalated":
		if d.Value == nil {
			return ""
		}
		return strconv.FormatBool(d.Flag("sarEscalated"))
	case "disposition", "reviewedBy", "reviewedAt", "notes":
		if d.Value == nil {
			return ""
		}
		return d.Text(column)
	}
	return l.Text(column)
}
