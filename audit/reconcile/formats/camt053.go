package formats

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"railguard/audit/reconcile"
)

// camtSpace is the namespace of the versions that are read: 001.02 to 001.12.
var camtSpace = regexp.MustCompile(`^urn:iso:std:iso:20022:tech:xsd:camt\.053\.001\.(0[2-9]|1[0-2])$`)

const (
	booked      = "BOOK"
	debit       = "DBIT"
	credit      = "CRDT"
	notProvided = "NOTPROVIDED"
	refsMax     = 16
	refRunesMax = 256
)

// money is an amount with its currency, as XML has it.
type money struct{ text, currency string }

// detail is one payment of an entry: a TxDtls.
type detail struct {
	endToEnd, instruction, transaction, uetr string
	amount, inner                            money // inner: AmtDtls/TxAmt, of older versions.
	mark                                     string
	iban, number                             string // The payee's account.
	payeeName                                string
	remittance                               []string
	isReturn                                 bool
	reason                                   string
}

// entry is one Ntry.
type entry struct {
	reference, servicer string
	amount              money
	mark                string
	reversal            string
	status              string
	bookedAt, bookedOn  string
	valuedAt, valuedOn  string
	details             []detail
	ordinal             int
}

// balance is one Bal.
type balance struct {
	kind, mark, on, at string
	amount             money
}

// statement is one Stmt.
type statement struct {
	id, sequence   string
	from, to       string
	account, other string
	opening        *balance
	closing        *balance
	moved          signed // Credits less debits.
	mixed          bool   // Its entries are in several currencies.
	currency       string // Of its entries.
	entries        int
}

// camt reads the elements of one file.
type camt struct {
	reader *Reader
	now    statement
	entry  entry
	detail detail
	bal    balance
	any    bool
}

// readStatements reads one camt.053 file.
func (r *Reader) readStatements(file io.Reader) error {
	c := &camt{reader: r}
	if err := newXMLStream(file).read(c); err != nil {
		return fmt.Errorf("%w: %w", ErrExtract, err)
	}
	if !c.any {
		return fmt.Errorf("%w: no statement (Stmt) in it", ErrExtract)
	}
	return nil
}

func (c *camt) root(name xml.Name) error {
	if name.Local != "Document" || !camtSpace.MatchString(name.Space) {
		return fmt.Errorf("the root is %s of %q, not the Document of camt.053.001.02 to .12", name.Local, name.Space)
	}
	return nil
}

const (
	pathStatement = "BkToCstmrStmt/Stmt"
	pathBalance   = pathStatement + "/Bal"
	pathEntry     = pathStatement + "/Ntry"
	pathDetail    = pathEntry + "/NtryDtls/TxDtls"
)

func (c *camt) begin(path string, attributes []xml.Attr) error {
	switch path {
	case pathStatement:
		c.now, c.any = statement{}, true
	case pathBalance:
		c.bal = balance{}
	case pathEntry:
		c.now.entries++
		c.entry = entry{ordinal: c.now.entries}
	case pathDetail:
		c.detail = detail{}
	case pathDetail + "/RtrInf":
		c.detail.isReturn = true
	case pathBalance + "/Amt":
		c.bal.amount.currency = currencyOf(attributes)
	case pathEntry + "/Amt":
		c.entry.amount.currency = currencyOf(attributes)
	case pathDetail + "/Amt":
		c.detail.amount.currency = currencyOf(attributes)
	case pathDetail + "/AmtDtls/TxAmt/Amt":
		c.detail.inner.currency = currencyOf(attributes)
	}
	return nil
}

func currencyOf(attributes []xml.Attr) string {
	for i := range attributes {
		if attributes[i].Name.Local == "Ccy" {
			return attributes[i].Value
		}
	}
	return ""
}

var errTwice = errors.New("an element that stands once stands twice")

func (c *camt) end(path, text string) error {
	switch path {
	case pathStatement:
		return c.endStatement()
	case pathBalance:
		return c.endBalance()
	case pathEntry:
		return c.endEntry()
	case pathDetail:
		c.entry.details = append(c.entry.details, c.detail)
		return nil
	case pathDetail + "/RmtInf/Ustrd", pathDetail + "/RmtInf/Strd/CdtrRefInf/Ref":
		if text != "" {
			c.detail.remittance = append(c.detail.remittance, text)
		}
		return nil
	}
	to := c.place(path)
	if to == nil || text == "" {
		return nil
	}
	if *to != "" {
		return fmt.Errorf("%w: %s", errTwice, path)
	}
	*to = text
	return nil
}

// place returns where the text of an element goes; nil: nowhere.
func (c *camt) place(path string) *string {
	below, found := strings.CutPrefix(path, pathDetail+"/")
	if found {
		return c.detail.place(below)
	}
	if below, found = strings.CutPrefix(path, pathEntry+"/"); found {
		return c.entry.place(below)
	}
	if below, found = strings.CutPrefix(path, pathBalance+"/"); found {
		return c.bal.place(below)
	}
	switch strings.TrimPrefix(path, pathStatement+"/") {
	case "Id":
		return &c.now.id
	case "ElctrncSeqNb":
		return &c.now.sequence
	case "FrToDt/FrDtTm":
		return &c.now.from
	case "FrToDt/ToDtTm":
		return &c.now.to
	case "Acct/Id/IBAN":
		return &c.now.account
	case "Acct/Id/Othr/Id":
		return &c.now.other
	}
	return nil
}

func (b *balance) place(path string) *string {
	switch path {
	case "Tp/CdOrPrtry/Cd":
		return &b.kind
	case "Amt":
		return &b.amount.text
	case "CdtDbtInd":
		return &b.mark
	case "Dt/Dt":
		return &b.on
	case "Dt/DtTm":
		return &b.at
	}
	return nil
}

func (e *entry) place(path string) *string {
	switch path {
	case "NtryRef":
		return &e.reference
	case "AcctSvcrRef":
		return &e.servicer
	case "Amt":
		return &e.amount.text
	case "CdtDbtInd":
		return &e.mark
	case "RvslInd":
		return &e.reversal
	case "Sts", "Sts/Cd":
		return &e.status
	case "BookgDt/DtTm":
		return &e.bookedAt
	case "BookgDt/Dt":
		return &e.bookedOn
	case "ValDt/DtTm":
		return &e.valuedAt
	case "ValDt/Dt":
		return &e.valuedOn
	}
	return nil
}

func (d *detail) place(path string) *string {
	switch path {
	case "Refs/EndToEndId":
		return &d.endToEnd
	case "Refs/InstrId":
		return &d.instruction
	case "Refs/TxId":
		return &d.transaction
	case "Refs/UETR":
		return &d.uetr
	case "Amt":
		return &d.amount.text
	case "AmtDtls/TxAmt/Amt":
		return &d.inner.text
	case "CdtDbtInd":
		return &d.mark
	case "RltdPties/Cdtr/Nm", "RltdPties/Cdtr/Pty/Nm":
		return &d.payeeName
	case "RltdPties/CdtrAcct/Id/IBAN":
		return &d.iban
	case "RltdPties/CdtrAcct/Id/Othr/Id":
		return &d.number
	case "RtrInf/Rsn/Cd", "RtrInf/Rsn/Prtry":
		return &d.reason
	}
	return nil
}

// endEntry hands the payments of an entry over.
func (c *camt) endEntry() error {
	e := &c.entry
	if e.status != booked {
		c.reader.to.Unbooked()
		return nil
	}
	amount, err := reconcile.ParseAmount(e.amount.text)
	if err != nil || e.amount.currency == "" || e.mark != debit && e.mark != credit {
		return fmt.Errorf("entry %q: it has no amount with a currency, or is neither %s nor %s", e.reference, debit, credit)
	}
	c.now.move(amount, e.amount.currency, e.mark)
	if len(e.details) == 0 {
		e.details = []detail{{}}
	}
	if err := c.checkSum(amount); err != nil {
		return err
	}
	for i := range e.details {
		if err := c.tellDetail(&e.details[i], i); err != nil {
			return fmt.Errorf("entry %q: %w", e.reference, err)
		}
	}
	return nil
}
