package credential

import (
	"bytes"
	"compress/zlib"
	"crypto/ecdsa"
	"encoding/base64"
	"strconv"

	"railguard/engine"
)

// StatusListType is the typ of a status list token: no credential has it, and what has it
// is no credential (RFC 8725, 3.11).
const StatusListType = "statuslist+jwt"

// statusBits is how many bits an entry of a status list has.
const statusBits = 2

// StatusList is what a status list token is made of (IETF Token Status List).
type StatusList struct {
	URL        string      // Of the list itself: the sub.
	At         engine.Time // The iat, a whole second.
	TTL        engine.Time // For how long a verifier may keep it; it ends after twice that.
	Compressed string      // Of CompressStatusList.
}

// CompressStatusList returns the lst member of a list: ZLIB, best compression, base64url.
// Equal bits give equal text in one release; another release's compressor may give another
// text that reads the same.
func CompressStatusList(bits []byte) (string, error) {
	var packed bytes.Buffer
	writer, err := zlib.NewWriterLevel(&packed, zlib.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := writer.Write(bits); err != nil {
		return "", err
	}
	if err := writer.Close(); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(packed.Bytes()), nil
}

// Expires is when nobody may rely on the list any more: what was fetched at the last moment
// can still be kept for the TTL.
func (l *StatusList) Expires() engine.Time { return l.At + 2*l.TTL }

// MintStatusList returns the token of a list. Equal input gives equal bytes.
func MintStatusList(l *StatusList, key *ecdsa.PrivateKey, kid string) (string, error) {
	dst := append(make([]byte, 0, len(l.Compressed)+256), `{"sub":`...)
	dst = appendQuoted(dst, l.URL)
	dst = strconv.AppendInt(append(dst, `,"iat":`...), int64(l.At/engine.Second), 10)
	dst = strconv.AppendInt(append(dst, `,"exp":`...), int64(l.Expires()/engine.Second), 10)
	dst = strconv.AppendInt(append(dst, `,"ttl":`...), int64(l.TTL/engine.Second), 10)
	dst = strconv.AppendInt(append(dst, `,"status_list":{"bits":`...), statusBits, 10)
	dst = append(append(append(dst, `,"lst":"`...), l.Compressed...), `"}}`...)
	return signToken(dst, key, kid, StatusListType)
}
