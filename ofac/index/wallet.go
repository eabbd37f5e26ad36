package index

import (
	"railguard/ofac/list"
	"railguard/ofac/perfect"
	"railguard/ofac/wallet"
)

// WalletMatch is a listed digital currency address that a wallet string names.
type WalletMatch struct {
	UID     uint32     // The listed party. If there are several: one on a core source before others, one that blocks before one that is reviewed, then the lowest id.
	Lists   list.Lists // All sources that the address stands on.
	Ticker  string     // As published; it does not determine the chain.
	Address string     // As printed on the list.
}

// Wallet is WalletAt before anything ended.
func (x *Tables) Wallet(address string) (WalletMatch, bool) { return x.WalletAt(address, 0) }

// WalletAt looks up an address at a time (ns UTC). Only the account counts, not its encoding or the ticker under
// which it is published; URIs, chain ids, links and blanks around it are ignored (see
// package wallet). If a text names several accounts, the first listed one is returned that blocks, or
// else the first listed one. A listed address that fits no grammar is compared as written.
func (x *Tables) WalletAt(address string, at int64) (WalletMatch, bool) {
	var reading wallet.Reading
	wallet.Read(address, &reading)
	var room [walletBytesMax]byte
	var first WalletMatch
	for n := 0; ; n++ {
		key, more := reading.AppendKey(room[:0], n)
		if !more {
			return first, first.Lists != 0
		}
		match, ok := x.walletKey(key, at)
		switch {
		case !ok:
		case match.Lists.Block():
			return match, true
		case first.Lists == 0:
			first = match
		}
	}
}

func (x *Tables) walletKey(key []byte, at int64) (WalletMatch, bool) {
	var match WalletMatch
	if len(key) == 0 {
		return match, false
	}
	for _, posting := range x.wallets.Of(perfect.KeyOf(key)) {
		record := x.addressAt(posting)
		if !x.sameWallet(key, record.value) || x.IsOver(record.entity, at) {
			continue
		}
		entity := x.EntityAt(record.entity)
		if match.Lists == 0 || stronger(entity.Lists, match.Lists) {
			match.UID, match.Ticker, match.Address = entity.UID, x.TextAt(record.ticker), x.TextAt(record.value)
		}
		match.Lists |= entity.Lists
	}
	return match, match.Lists != 0
}

// sameWallet compares the key itself with that of a listed address, because the table
// compares only hashes.
func (x *Tables) sameWallet(key []byte, value uint32) bool {
	var room [walletBytesMax]byte
	return string(wallet.AppendKey(room[:0], x.TextAt(value))) == string(key)
}
