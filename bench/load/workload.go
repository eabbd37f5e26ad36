package load

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// Workload says who pays whom. The same seed makes the same calls.
type Workload struct {
	Seed           uint64 `json:"seed"`
	Agents         int    `json:"agents"`
	Delegates      int    `json:"delegates"` // How many delegates there are in addition to the agents. Each belongs to one of the agents.
	Fleets         int    `json:"fleets"`    // Every second agent is in one.
	Counterparties int    `json:"counterparties"`
	NamedPermille  int    `json:"namedPermille"`  // Calls with the name of a known counterparty.
	FreshPermille  int    `json:"freshPermille"`  // Calls with a name never seen before.
	ListedPermille int    `json:"listedPermille"` // Calls to a listed wallet.
	KeyedPermille  int    `json:"keyedPermille"`  // Calls with an Idempotency-Key.
}

// StandardWorkload is the mix that targets are meant for.
func StandardWorkload() Workload {
	return Workload{Seed: 1, Agents: 300, Delegates: 60, Fleets: 20, Counterparties: 100_000, NamedPermille: 250, FreshPermille: 20, ListedPermille: 5, KeyedPermille: 300}
}

func (w *Workload) check() error {
	switch {
	case w.Agents < 1 || w.Agents > 1_000_000:
		return fmt.Errorf("agents: %d is not between 1 and 1,000,000", w.Agents)
	case w.Fleets < 0 || w.Fleets > w.Agents, w.Delegates < 0 || w.Delegates > w.Agents:
		return fmt.Errorf("there may be as many fleets and delegates as agents, not %d and %d", w.Fleets, w.Delegates)
	case w.Counterparties < 1:
		return fmt.Errorf("counterparties: %d is not positive", w.Counterparties)
	}
	for _, share := range []int{w.NamedPermille, w.FreshPermille, w.ListedPermille, w.KeyedPermille} {
		if share < 0 || share > 1000 {
			return fmt.Errorf("a share of calls is 0 to 1000 per mille, not %d", share)
		}
	}
	if w.NamedPermille+w.FreshPermille+w.ListedPermille > 1000 {
		return fmt.Errorf("named, fresh and listed calls are more than all")
	}
	return nil
}

// random is a caller's source of choices.
type random struct{ *rand.Rand }

func newRandom(seed, stream uint64) *random {
	return &random{rand.New(rand.NewPCG(seed, stream+1))}
}

// listedWallet is on the embedded sample list.
const listedWallet = "0x098B716B8Aaf21512996dC57EB0615e2383E2f96"

var (
	rails  = []string{"USDC", "USDC", "USDC", "ACH", "WIRE"}
	chains = []string{"BASE", "ETH", "ETH", "", ""}
	trades = []string{"Trading", "Logistics", "Foods", "Software", "Textiles", "Printing", "Machines", "Paper", "Optics", "Seeds"}
	places = []string{"Contoso", "Northwind", "Fabrikam", "Tailspin", "Wingtip", "Adatum", "Litware", "Proseware", "Lucerne", "Margie"}
	forms  = []string{"Ltd", "LLC", "GmbH", "Inc", "BV"}
)

// crew is who pays: the agents that this run has made.
type crew struct {
	run    string // Distinguishes this run's names and keys from those of others.
	key    string // API key.
	tokens []string
}

// payments makes screening calls of the mix.
func (c *crew) payments(w Workload) maker {
	head := "POST /v1/screen HTTP/1.1\r\nHost: railguard\r\nAuthorization: Bearer " + c.key + "\r\nContent-Type: application/json\r\n"
	return func(call *caller, serial uint64, out []byte) []byte {
		body := c.payment(w, call, serial)
		out = append(out, head...)
		if call.random.IntN(1000) < w.KeyedPermille {
			out = append(append(append(out, "Idempotency-Key: "...), c.run...), '-')
			out = strconv.AppendUint(out, call.load, 36)
			out = append(out, '-')
			out = append(strconv.AppendUint(out, serial, 10), "\r\n"...)
		}
		out = append(out, "Content-Length: "...)
		out = strconv.AppendInt(out, int64(len(body)), 10)
		return append(append(out, "\r\n\r\n"...), body...)
	}
}

// payment writes one body into the caller's digits buffer.
func (c *crew) payment(w Workload, call *caller, serial uint64) []byte {
	r := call.random
	out := append(call.digits[:0], `{"token":"`...)
	out = append(out, c.tokens[r.IntN(len(c.tokens))]...)
	out = append(out, `","amount":`...)
	out = strconv.AppendInt(out, int64(1+r.IntN(400)), 10)
	out = append(out, '.')
	out = strconv.AppendInt(out, int64(10+r.IntN(90)), 10)
	party := r.IntN(w.Counterparties)
	share := r.IntN(1000)
	at := r.IntN(len(rails))
	out = append(append(append(out, `,"rail":"`...), rails[at]...), '"')
	if chains[at] != "" {
		out = append(append(append(out, `,"chain":"`...), chains[at]...), '"')
	}
	out = append(out, `,"cpType":"business","cpWallet":"`...)
	if share < w.ListedPermille {
		out = append(out, listedWallet...)
	} else {
		out = appendWallet(out, w.Seed, uint64(party))
	}
	out = append(out, '"')
	switch share -= w.ListedPermille; {
	case share < 0:
	case share < w.FreshPermille:
		out = append(out, `,"cpName":"`...)
		out = appendName(out, r.Uint64())
		out = append(strconv.AppendUint(append(out, ' '), serial, 36), '"')
	case share < w.FreshPermille+w.NamedPermille:
		out = append(appendName(append(out, `,"cpName":"`...), uint64(party%1000)), '"')
	}
	call.digits = append(out, '}')
	return call.digits
}

// appendWallet writes the wallet of a counterparty.
func appendWallet(out []byte, seed, party uint64) []byte {
	var raw [20]byte
	source := rand.NewPCG(seed, party)
	for i := 0; i < len(raw); i += 4 {
		v := source.Uint64()
		raw[i], raw[i+1], raw[i+2], raw[i+3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
	}
	return hex.AppendEncode(append(out, "0x"...), raw[:])
}

// appendName writes a clean business name, the same one for the same number.
func appendName(out []byte, number uint64) []byte {
	pick := func(words []string) string {
		word := words[number%uint64(len(words))]
		number /= uint64(len(words))
		return word
	}
	out = append(append(out, pick(places)...), ' ')
	out = append(append(out, pick(trades)...), ' ')
	out = append(strconv.AppendUint(append(append(out, pick(places)...), ' '), number%100_000, 10), ' ')
	return append(out, pick(forms)...)
}
