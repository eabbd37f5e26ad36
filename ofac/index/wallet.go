package index

import (
	"cmp"
	"slices"

	"railguard/ofac/list"
	"railguard/ofac/perfect"
	"railguard/ofac/wallet"
)

// WalletMatch is a listed digital currency address that a wallet string names, or of which it is a
// twin: another address of its key.
type WalletMatch struct {
	UID     uint32      // The listed party. If there are several: one on a core source before others, one that blocks before one that is reviewed, then the closest twin, then the lowest id.
	Lists   list.Lists  // All sources that the address stands on.
	Ticker  string      // As published; it does not determine the chain.
	Address string      // As printed on the list.
	Twin    wallet.Twin // How the wallet is related to the listed address.
}

// Blocks reports whether the match blocks by itself: the wallet is surely a listed one's, on a
// source that blocks. Any other match is a possible one.
func (m *WalletMatch) Blocks() bool { return m.Lists.Block() && m.Twin.Sure() }

// Wallet is WalletAt before anything ended.
func (x *Tables) Wallet(address string) (WalletMatch, bool) { return x.WalletAt(address, 0) }

// WalletAt looks up an address at a time (ns UTC). Only the account counts, not its encoding or the ticker under
// which it is published; URIs, chain ids, links and blanks around it are ignored (see
// package wallet). If a text names several accounts, the first listed one is returned that blocks, or
// else the first listed one. A listed address that fits no grammar is compared as written.
func (x *Tables) WalletAt(address string, at int64) (WalletMatch, bool) {
	var plain wallet.Address
	if wallet.ReadPlain(address, &plain) {
		var room [plainBytesMax]byte
		return x.walletKey(plain.AppendTwinKey(room[:0]), &plain, at)
	}
	return x.walletsIn(address, at)
}

// walletsIn looks up the accounts and the words of a text.
func (x *Tables) walletsIn(text string, at int64) (WalletMatch, bool) {
	var reading wallet.Reading
	wallet.Read(text, &reading)
	var room [walletBytesMax]byte
	var first WalletMatch
	accounts := reading.Addresses()
	for n := 0; ; n++ {
		key, more := reading.AppendTwinKey(room[:0], n)
		if !more {
			return first, first.Lists != 0
		}
		var asked *wallet.Address
		if n < len(accounts) {
			asked = &accounts[n]
		}
		match, ok := x.walletKey(key, asked, at)
		switch {
		case !ok:
		case match.Blocks():
			return match, true
		case first.Lists == 0:
			first = match
		}
	}
}

// walletKey looks up a key. asked is nil for a text that is compared as written. What is surely a
// listed one's comes before what only may be, whatever the sources are.
func (x *Tables) walletKey(key []byte, asked *wallet.Address, at int64) (WalletMatch, bool) {
	var sure, likely WalletMatch
	if len(key) == 0 {
		return sure, false
	}
	for _, posting := range x.wallets.Of(perfect.KeyOf(key)) {
		row, twin, ok := x.twinAt(posting, key, asked)
		if !ok {
			continue
		}
		record := x.addressAt(row)
		if x.IsOver(record.entity, at) {
			continue
		}
		match := &sure
		if !twin.Sure() {
			match = &likely
		}
		entity := x.EntityAt(record.entity)
		if match.Lists == 0 || stronger(entity.Lists, match.Lists) || twin < match.Twin && !stronger(match.Lists, entity.Lists) {
			match.UID, match.Ticker, match.Address, match.Twin = entity.UID, x.TextAt(record.ticker), x.TextAt(record.value), twin
		}
		match.Lists |= entity.Lists
	}
	if sure.Lists == 0 {
		return likely, likely.Lists != 0
	}
	return sure, true
}

// twinAt returns the row of a listed address and how what is asked for is related to it. It compares
// the key itself, because the table compares only hashes.
func (x *Tables) twinAt(posting uint32, key []byte, asked *wallet.Address) (row uint32, twin wallet.Twin, ok bool) {
	var room [walletBytesMax]byte
	if at := int(posting) - len(x.addresses); at >= 0 {
		derived := &x.derived[at]
		if asked == nil || string(derived.Account.AppendTwinKey(room[:0])) != string(key) {
			return 0, 0, false
		}
		return derived.row, max(derived.Twin, asked.TwinOf(&derived.Account)), true
	}
	var listed wallet.Address
	own, known := wallet.ReadListed(room[:0], x.TextAt(x.addressAt(posting).value), &listed)
	switch {
	case string(own) != string(key) || known != (asked != nil):
		return 0, 0, false
	case known:
		twin = asked.TwinOf(&listed)
	}
	return posting, twin, true
}

// derivedRecord is an account that is computed of a listed address.
type derivedRecord struct {
	row uint32 // Of addresses.
	wallet.Derived
}

// walletPosting is one account under its key.
type walletPosting struct {
	key     string
	hash    perfect.Key
	account uint32 // Its row of addresses, or of derived behind those.
}

// fileWallets makes the table of listed accounts and of those that are computed of them.
func (b *builder) fileWallets() (err error) {
	var postings []walletPosting
	var computed []wallet.Derived
	distinct := map[string]struct{}{}
	for i, record := range b.addresses {
		if i%wordsOfStep == 0 {
			b.pauseWork()
		}
		text := b.texts[record.value]
		var listed wallet.Address
		key, known := wallet.ReadListed(nil, text, &listed)
		if len(key) == 0 {
			continue // only blanks: no query can have this key
		}
		postings = append(postings, walletPosting{string(key), perfect.KeyOf(key), uint32(i)})
		if !known {
			distinct[string(key)] = struct{}{}
			continue
		}
		distinct[string(listed.AppendKey(nil))] = struct{}{}
		computed = listed.AppendDerived(computed[:0])
		for k := range computed {
			key := computed[k].Account.AppendTwinKey(nil)
			postings = append(postings, walletPosting{string(key), perfect.KeyOf(key), uint32(len(b.addresses) + len(b.derived))})
			b.derived = append(b.derived, derivedRecord{uint32(i), computed[k]})
		}
	}
	b.walletCount = len(distinct)
	slices.SortFunc(postings, func(p, q walletPosting) int {
		return cmp.Or(cmp.Compare(p.key, q.key), cmp.Compare(p.account, q.account))
	})
	keys := make([]perfect.Key, len(postings))
	values := make([]uint32, len(postings))
	for i, posting := range postings {
		keys[i], values[i] = posting.hash, posting.account
	}
	b.wallets, err = perfect.BuildMultimap(keys, values)
	return err
}
