package witness

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"railguard/audit/note"
)

const (
	// BodyMax bounds a request: a checkpoint and 63 hashes.
	BodyMax = note.CheckpointSizeMax + 64*64
	// hashesMax is the standard's bound of a proof.
	hashesMax = 63
	// sizeType is the content type of an answer with the size that the witness cosigned last.
	sizeType = "text/x.tlog.size"
)

var errBody = errors.New("witness: not an add-checkpoint request")

func encodeBody(old uint64, path [][]byte, signed []byte) []byte {
	b := append(strconv.AppendUint([]byte("old "), old, 10), '\n')
	for _, hash := range path {
		b = append(base64.StdEncoding.AppendEncode(b, hash), '\n')
	}
	return append(append(b, '\n'), signed...)
}

// parseBody reads exactly what encodeBody writes.
func parseBody(data []byte) (old uint64, path [][]byte, signed []byte, err error) {
	head, rest, ok := strings.Cut(string(data), "\n\n")
	lines := strings.Split(head, "\n")
	number, isOld := strings.CutPrefix(lines[0], "old ")
	if !ok || !isOld || len(lines)-1 > hashesMax {
		return 0, nil, nil, errBody
	}
	old, err = strconv.ParseUint(number, 10, 63)
	if err != nil || strconv.FormatUint(old, 10) != number {
		return 0, nil, nil, fmt.Errorf("%w: old size", errBody)
	}
	for _, line := range lines[1:] {
		hash, err := base64.StdEncoding.Strict().DecodeString(line)
		if err != nil || len(hash) != 32 || base64.StdEncoding.EncodeToString(hash) != line {
			return 0, nil, nil, fmt.Errorf("%w: hash", errBody)
		}
		path = append(path, hash)
	}
	return old, path, []byte(rest), nil
}
