package engine

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"railguard/ofac"
)

// WalletRole says what a wallet has to do with a payment.
type WalletRole uint8

// The roles of the member wallets.
const (
	WalletPayer WalletRole = iota
	WalletPayee
	WalletIntermediary
	WalletFee
)

var walletRoles = [...]string{"payer", "payee", "intermediary", "fee"}

// String returns the word of the API.
func (r WalletRole) String() string { return walletRoles[r] }

// RoleWallet is a wallet of a payment besides cpWallet and payerWallet.
type RoleWallet struct {
	Role    WalletRole
	Address string // As sent.
}

// WalletsMax is how many wallets the member wallets may name.
const WalletsMax = 8

// Sub-reasons about wallets beside cpWallet.
const (
	subPayerListed   Sub = 3  // Of R4.
	subWalletListed  Sub = 2  // Of R6.
	subPayerContract Sub = 5  // Of R14.
	subOtherContract Sub = 6  // Of R14.
	subPayerForeign  Sub = 10 // Of R20.
	subPayerUnread   Sub = 10 // Of R19.
	subWalletUnread  Sub = 11 // Of R19.
	subTwin          Sub = 19 // Of R21.
)

// ReadWallets reads the member wallets of a screening call. A payee among them stands for cpWallet
// if the call has none. An unknown member of one is an error: it could hold a wallet.
func (r *Request) ReadWallets(raw []byte) []FieldError {
	var reader documentReader
	items := reader.readList("wallets", raw, WalletsMax)
	for i, item := range items {
		reader.readWallet(elementOf("wallets", i), item, &r.Wallets[i])
	}
	if len(reader.errors) > 0 {
		r.Wallets = [WalletsMax]RoleWallet{}
		return reader.errors
	}
	r.WalletCount = len(items)
	for i := range items {
		if w := &r.Wallets[i]; w.Role == WalletPayee && r.Wallet == "" {
			r.Wallet = w.Address
		}
	}
	return nil
}

func (r *documentReader) readWallet(param string, document []byte, w *RoleWallet) {
	role, address := -1, ""
	before := len(r.errors)
	r.readMembers(param, document, func(name, path string, value json.RawMessage) {
		switch name {
		case "role":
			role = r.readChoice(path, value, walletRoles[:]...)
		case "address":
			address, _ = r.readText(path, value)
		default:
			r.addUnknown(path)
		}
	})
	switch {
	case len(r.errors) > before:
	case role < 0 || trimSpace(address) == "":
		r.addError(param, "must have role and address")
	case len(address) > FieldMax:
		r.addError(param+".address", "must have at most "+strconv.Itoa(FieldMax)+" bytes")
	default:
		*w = RoleWallet{WalletRole(role), address}
	}
}

// mixerContracts tells whether a wallet that pays, and whether another one beside cpWallet, is a
// contract of the mixer list.
func (r *Request) mixerContracts() (payer, other bool) {
	if r.Payer != "" {
		_, payer = FindMixerContract(r.Payer)
	}
	for i := range r.Wallets[:r.WalletCount] {
		w := &r.Wallets[i]
		_, found := FindMixerContract(w.Address)
		payer, other = payer || found && w.Role == WalletPayer, other || found && w.Role != WalletPayer
	}
	return payer, other
}

// unreadWallets is the part of R19 about the wallets beside cpWallet: each must name exactly one
// account.
func (r *Request) unreadWallets() Sub {
	if payer := trimSpace(r.Payer); payer != "" && walletGrammar(payer) != 0 {
		return subPayerUnread
	}
	for i := range r.Wallets[:r.WalletCount] {
		if w := &r.Wallets[i]; walletGrammar(trimSpace(w.Address)) != 0 {
			if w.Role == WalletPayer {
				return subPayerUnread
			}
			return subWalletUnread
		}
	}
	return 0
}

// ListedWallets calls visit with each of the member wallets that is on the list.
func (f *Facts) ListedWallets(visit func(WalletRole, *ofac.WalletMatch)) {
	for i := range f.Request.Wallets[:f.Request.WalletCount] {
		if f.OtherListed&(1<<i) != 0 {
			visit(f.Request.Wallets[i].Role, &f.OtherWallets[i])
		}
	}
}

// sureLists returns the lists of a wallet that is surely a listed one's; 0: it is on none, or only may
// be one's (see mayBeListed).
func sureLists(listed bool, match *ofac.WalletMatch) ofac.Lists {
	if !listed || !match.Twin.Sure() {
		return 0
	}
	return match.Lists
}

// mayBeListed reports whether a wallet of the call has the bytes of a listed one in an address of
// another kind.
func (f *Facts) mayBeListed() bool {
	if f.OperatorListed && !f.OperatorWallet.Twin.Sure() || f.PartyListed && !f.PartyWallet.Twin.Sure() || f.PayerListed && !f.PayerWallet.Twin.Sure() {
		return true
	}
	for i := range f.Request.Wallets[:f.Request.WalletCount] {
		if f.OtherListed&(1<<i) != 0 && !f.OtherWallets[i].Twin.Sure() {
			return true
		}
	}
	return false
}

// otherListed returns the lists of the first of the member wallets, that pays or that does not, that
// are as asked for; 0: there is none.
func (f *Facts) otherListed(pays bool, are func(ofac.Lists) bool) ofac.Lists {
	for i := range f.Request.Wallets[:f.Request.WalletCount] {
		lists := sureLists(f.OtherListed&(1<<i) != 0, &f.OtherWallets[i])
		if lists != 0 && (f.Request.Wallets[i].Role == WalletPayer) == pays && are(lists) {
			return lists
		}
	}
	return 0
}

// payerForeign tells whether a wallet that pays is none of the operator's, where the policy asks for
// it. A call that does not tell who pays is not asked here.
func (f *Facts) payerForeign() bool {
	if !f.Policy.PayerOwn {
		return false
	}
	if payer := trimSpace(f.Request.Payer); payer != "" && !f.ownsWallet(payer) {
		return true
	}
	for i := range f.Request.Wallets[:f.Request.WalletCount] {
		if w := &f.Request.Wallets[i]; w.Role == WalletPayer && !f.ownsWallet(w.Address) {
			return true
		}
	}
	return false
}

// ownsWallet tells whether the operator was registered with a wallet: for the agent, for a parent, or
// for another agent. All of a chain belong to one operator (R23).
func (f *Facts) ownsWallet(text string) bool {
	var room, ownRoom [2 * FieldMax]byte
	wallet := appendWallet(room[:0], text)
	same := func(own string) bool {
		return trimSpace(own) != "" && bytes.Equal(appendWallet(ownRoom[:0], own), wallet)
	}
	for i := range f.ChainSize {
		if same(f.Chain[i].OperatorWallet) {
			return true
		}
	}
	return f.Operator != nil && slices.ContainsFunc(f.Operator.Wallets, func(own OperatorWallet) bool { return same(own.Wallet) })
}

// operatorWalletListed is R4.
func operatorWalletListed(f *Facts) Sub {
	switch {
	case sureLists(f.OperatorListed, &f.OperatorWallet).IsOFAC():
		return Sub(min(f.OperatorLevel, 1)) + 1
	case f.payerOn(ofac.Lists.IsOFAC) != 0:
		return subPayerListed
	case sureLists(f.OperatorListed, &f.OperatorWallet).Block():
		return subOperatorWalletFurther
	case f.payerOn(ofac.Lists.Block) != 0:
		return subPayerFurther
	}
	return 0
}

// partyWalletListed is R6.
func partyWalletListed(f *Facts) Sub {
	switch {
	case sureLists(f.PartyListed, &f.PartyWallet).IsOFAC():
		return 1
	case f.otherListed(false, ofac.Lists.IsOFAC) != 0:
		return subWalletListed
	case sureLists(f.PartyListed, &f.PartyWallet).Block():
		return subPartyWalletFurther
	case f.otherListed(false, ofac.Lists.Block) != 0:
		return subWalletFurther
	}
	return 0
}
