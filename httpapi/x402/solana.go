package x402

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/mr-tron/base58"
)

// This file reads who pays by a transaction of Solana: the owners of the token accounts that it
// takes from, and whoever signs it; and the text that it carries. Its form is the wire format of transactions, legacy and
// version 0 (solana.com/docs/core/transactions).

// payersMost is how many wallets may pay by one transaction.
const payersMost = 9

// readPayers returns the owner of the token account that a transaction takes from first, and then
// all others that own such an account or sign. It returns nil if the transaction cannot be read, or
// does not say who pays. note is the text that the transaction carries.
func readPayers(transaction string) (wallets []string, note string) {
	data, err := base64.StdEncoding.DecodeString(transaction)
	if err != nil {
		return nil, ""
	}
	r := solanaReader{rest: data}
	signatures := r.takeCount()
	r.take(64 * signatures)
	var payers []int
	keys, signers, ok := r.readMessage(func(owner int) { payers = append(payers, owner) })
	if !ok || signatures != signers || len(payers) == 0 {
		return nil, ""
	}
	for signer := range signers {
		payers = append(payers, signer)
	}
	for _, at := range payers {
		if at >= len(keys)/keySize {
			return nil, "" // The account is named in a table of the chain.
		}
		if wallet := base58.Encode(keys[at*keySize:][:keySize]); !slices.Contains(wallets, wallet) {
			wallets = append(wallets, wallet)
		}
	}
	if len(wallets) > payersMost {
		return nil, ""
	}
	return wallets, strings.ToValidUTF8(r.note, "\ufffd")
}

const keySize = 32 // Bytes of an account's key.

// The token programs move tokens from an account in the name of its owner. The data of the memo
// programs is a text.
var (
	tokenPrograms = programs("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
	memoPrograms  = programs("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo")
)

// programKeys are the keys of programs.
type programKeys [][]byte

func programs(texts ...string) (keys programKeys) {
	for _, text := range texts {
		key, _ := base58.Decode(text)
		keys = append(keys, key)
	}
	return keys
}

func (p programKeys) has(key []byte) bool {
	return slices.ContainsFunc(p, func(one []byte) bool { return bytes.Equal(one, key) })
}

// solanaReader reads a transaction. After the first part that is missing everything is empty.
type solanaReader struct {
	rest []byte
	bad  bool
	note string // What the memo programs are given.
}

// readMessage reads a message. It returns its accounts' keys one behind the other, the first of
// which sign, and calls owner with the place of the account in whose name tokens are moved.
func (r *solanaReader) readMessage(owner func(at int)) (keys []byte, signers int, ok bool) {
	lookups := len(r.rest) > 0 && r.rest[0]&0x80 != 0
	if lookups && r.takeByte() != 0x80 {
		return nil, 0, false // A later version.
	}
	signers = int(r.takeByte())
	r.take(2) // How many accounts are only read.
	accounts := r.takeCount()
	keys = r.take(keySize * accounts)
	r.take(keySize) // A recent block.
	for range r.takeCount() {
		program := int(r.takeByte())
		named := r.take(r.takeCount())
		instruction := r.take(r.takeCount())
		if r.bad || program >= accounts {
			return nil, 0, false
		}
		called := keys[program*keySize:][:keySize]
		if memoPrograms.has(called) {
			r.note = strings.TrimSpace(r.note + "\n" + string(instruction))
		}
		if at := placeOfOwner(instruction); tokenPrograms.has(called) && at >= 0 {
			if at >= len(named) {
				return nil, 0, false
			}
			owner(int(named[at]))
		}
	}
	if lookups {
		for range r.takeCount() {
			r.take(keySize)
			r.take(r.takeCount())
			r.take(r.takeCount())
		}
	}
	return keys, signers, !r.bad && len(r.rest) == 0 && signers > 0 && signers <= accounts
}

// placeOfOwner returns which of its accounts an instruction of a token program moves tokens in the
// name of; -1: it moves none.
func placeOfOwner(instruction []byte) int {
	switch {
	case len(instruction) == 0:
	case instruction[0] == 3: // Transfer: from, to, owner.
		return 2
	case instruction[0] == 12, instruction[0] == 26 && len(instruction) > 1 && instruction[1] == 1: // TransferChecked, and with a fee: from, mint, to, owner.
		return 3
	}
	return -1
}

// take takes n bytes.
func (r *solanaReader) take(n int) (part []byte) {
	if r.bad = r.bad || n > len(r.rest); r.bad {
		return nil
	}
	part, r.rest = r.rest[:n], r.rest[n:]
	return part
}

func (r *solanaReader) takeByte() byte {
	if part := r.take(1); part != nil {
		return part[0]
	}
	return 0
}

// takeCount takes a number of up to 16 bits, seven in each byte.
func (r *solanaReader) takeCount() (n int) {
	for shift := 0; shift < 21; shift += 7 {
		b := r.takeByte()
		n |= int(b&0x7f) << shift
		if b&0x80 == 0 {
			r.bad = r.bad || n > 0xffff || b == 0 && shift > 0
			if r.bad {
				return 0
			}
			return n
		}
	}
	r.bad = true
	return 0
}
