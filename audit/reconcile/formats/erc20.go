package formats

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"railguard/strictjson"
)

// The topics of the two events that are read.
const (
	topicTransfer   = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef" // Transfer(address,address,uint256)
	topicAuthorized = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5" // AuthorizationUsed(address,bytes32)
)

// transactionLogsMax bounds the logs of one transaction, which are held until its last.
const transactionLogsMax = 100_000

// tokenLog is one log of a token.
type tokenLog struct {
	asset        *Asset
	hash         string // Of the transaction.
	index        uint64
	time         string
	from, to     string // Of an authorization: to is "".
	units, nonce string
}

func (l *tokenLog) isTransfer() bool { return l.to != "" }

// readLogs reads logs of tokens. Those of one transaction stand together, in any order.
func (r *Reader) readLogs(file io.Reader) error {
	var held []tokenLog
	err := r.eachObject(file, func(f *strictjson.Fields) error {
		l, err := r.readLog(f)
		if err != nil || l == nil {
			return err
		}
		if len(held) > 0 && held[0].hash != l.hash {
			if err := r.tellTransaction(held); err != nil {
				return err
			}
			held = held[:0]
		}
		if len(held) >= transactionLogsMax {
			return errors.New("a transaction with too many logs")
		}
		held = append(held, *l)
		return nil
	})
	if err != nil {
		return err
	}
	return r.tellTransaction(held)
}

// readLog reads one log, raw or decoded; nil: it was removed, or is of no token that counts.
func (r *Reader) readLog(f *strictjson.Fields) (*tokenLog, error) {
	if removed, _ := f.Flag("removed"); removed {
		return nil, f.Err()
	}
	if f.Has("topics") {
		return r.readRaw(f)
	}
	return r.readDecoded(f)
}

// readRaw reads a log as eth_getLogs gives it.
func (r *Reader) readRaw(f *strictjson.Fields) (*tokenLog, error) {
	if !isEVM(r.options.Network) {
		return nil, fmt.Errorf("%w (the log does not name its own)", ErrNetwork)
	}
	address, data, hash := f.Text("address", logBytesMax), f.Text("data", logBytesMax), strings.ToLower(f.Text("transactionHash", logBytesMax))
	number, stamp := f.Text("logIndex", logBytesMax), f.Text("blockTimestamp", logBytesMax)
	topics, _ := f.Texts("topics", 4, logBytesMax)
	if err := f.Err(); err != nil {
		return nil, err
	}
	asset := r.findAsset(r.options.Network, address)
	if asset == nil || len(topics) == 0 {
		return nil, nil
	}
	l := &tokenLog{asset: asset, hash: hash}
	index, okIndex := hexNumber(number)
	at, okTime := hexNumber(stamp)
	if !isHash(hash) || !okIndex || !index.IsUint64() || !okTime || !at.IsUint64() {
		return nil, errors.New("transactionHash, logIndex and blockTimestamp are required, in hexadecimal digits")
	}
	l.index = index.Uint64()
	if l.time, okTime = secondsTime(at.Uint64()); !okTime {
		return nil, errors.New("blockTimestamp is no time")
	}
	switch topic := strings.ToLower(topics[0]); {
	case topic == topicTransfer:
		value, ok := hexNumber(data)
		from, okFrom := topicAddress(topics, 1)
		to, okTo := topicAddress(topics, 2)
		if !ok || len(data) != 2+64 || !okFrom || !okTo || len(topics) != 3 {
			return nil, errors.New("a Transfer has two indexed addresses and one value")
		}
		l.from, l.to, l.units = from, to, value.String()
	case topic == topicAuthorized:
		from, ok := topicAddress(topics, 1)
		if len(topics) != 3 || !ok || !isHash(topics[2]) {
			return nil, errors.New("an AuthorizationUsed has an indexed address and an indexed nonce")
		}
		l.from, l.nonce = from, strings.ToLower(topics[2])
	default:
		return nil, nil
	}
	return l, nil
}

// topicAddress reads an address out of a topic.
func topicAddress(topics []string, at int) (string, bool) {
	if at >= len(topics) || !isHash(topics[at]) || strings.Trim(topics[at][2:26], "0") != "" {
		return "", false
	}
	return "0x" + strings.ToLower(topics[at][26:]), true
}

// readDecoded reads a log that somebody decoded.
func (r *Reader) readDecoded(f *strictjson.Fields) (*tokenLog, error) {
	chain, named := f.Integer("chainId", 1, 1<<53)
	index, indexed := f.Integer("logIndex", 0, 1<<53)
	token, hash, from, to := f.Text("token", logBytesMax), strings.ToLower(f.Text("txHash", logBytesMax)), f.Text("from", logBytesMax), f.Text("to", logBytesMax)
	units, stamp, nonce := f.Text("value", logBytesMax), f.Text("timestamp", logBytesMax), strings.ToLower(f.Text("nonce", logBytesMax))
	if err := f.Err(); err != nil {
		return nil, err
	}
	if !named {
		return nil, errors.New("neither a raw log with topics nor a decoded one with chainId")
	}
	network := "eip155:" + decimal(uint64(chain))
	if r.options.Network != "" && network != r.options.Network {
		return nil, fmt.Errorf("a log of the network %s", network)
	}
	asset := r.findAsset(network, token)
	if asset == nil {
		return nil, nil
	}
	if _, timed := strictjson.ParseTime(stamp); !timed || !indexed || !isHash(hash) || !isAddress(from) || !isAddress(to) || nonce != "" && !isHash(nonce) {
		return nil, errors.New("txHash, logIndex, from, to, value and timestamp are required, and nonce is 32 bytes")
	}
	return &tokenLog{asset: asset, hash: hash, index: uint64(index), time: stamp, from: strings.ToLower(from), to: strings.ToLower(to), units: units, nonce: nonce}, nil
}

// tellTransaction hands the transfers of one transaction over, as they stood in the file. An
// authorization gives its nonce to the next transfer of its payer behind it.
func (r *Reader) tellTransaction(logs []tokenLog) error {
	order := make([]*tokenLog, len(logs))
	for i := range logs {
		order[i] = &logs[i]
	}
	slices.SortStableFunc(order, func(a, b *tokenLog) int { return cmp.Compare(a.index, b.index) })
	type owner struct {
		asset *Asset
		payer string
	}
	waiting := map[owner][]string{}
	for _, l := range order {
		of := owner{l.asset, l.from}
		if !l.isTransfer() {
			waiting[of] = append(waiting[of], l.nonce)
		} else if nonces := waiting[of]; len(nonces) > 0 && l.nonce == "" {
			l.nonce, waiting[of] = nonces[0], nonces[1:]
		}
	}
	for i := range logs {
		l := &logs[i]
		if !l.isTransfer() {
			continue
		}
		refs := []string{l.hash}
		if l.nonce != "" {
			refs = append(refs, l.nonce)
		}
		err := r.tell(&moved{asset: l.asset, id: l.asset.Network + "/" + l.hash + ":" + decimal(l.index), time: l.time, units: l.units, from: l.from, to: l.to, refs: refs})
		if err != nil {
			return fmt.Errorf("%w: transaction %s: %w", ErrExtract, l.hash, err)
		}
	}
	return nil
}
