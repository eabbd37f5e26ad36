package index

import (
	"railguard/ofac/list"
	"railguard/ofac/perfect"
	"railguard/ofac/wallet"
)

// WalletMatch is a listed digital currency address that a wallet string names.
type WalletMatch struct {
	UID     uint32     // The listed party. If there are several: one on a core source before others, then the lowest id.
	Lists   list.Lists // All sources that the address stands on.
	Ticker  string     // As published; it does not determine the chain.
	Address string     // As printed on the list.
}

// Wallet looks up an address. Only the account counts, not its encoding or the ticker under
// which it is published; URIs, chain ids, links and blanks around it are ignored (see
// package wallet). If a text names several accounts, the first listed one is returned. A
// listed address that fits no grammar is compared as written.
func (x *Tables) Wallet(address string) (WalletMatch, bool) {
	var reading wallet.Reading
	wallet.Read(address, &reading)
	var room [walletBytesMax]byte
	for n := 0; ; n++ {
		key, more := reading.AppendKey(room[:0], n)
		if !more {
			return WalletMatch{}, false
		}
		if match, ok := x.walletKey(key); ok {
			return match, true
		}
	}
}

func (x *Tables) walletKey(key []byte) (WalletMatch, bool) {
	var match WalletMatch
	if len(key) == 0 {
		return match, false
	}
	for _, posting := range x.wallets.Of(perfect.KeyOf(key)) {
		record := x.addressAt(posting)
		if !x.sameWallet(key, record.value) {
			continue
		}
		entity := x.EntityAt(record.entity)
		if !match.Lists.Core() && (match.Lists == 0 || entity.Lists.Core()) {
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
