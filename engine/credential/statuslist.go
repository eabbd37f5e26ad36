package credential

import (
	"bytes"
	"compress/zlib"
	"crypto"
	"encoding/base64"
	"strconv"

	"railguard/engine"
	"railguard/engine/jws"
)

// StatusListType is the typ of a status list token. No credential has this typ, so neither can
// be taken for the other (RFC 8725, 3.11).
const StatusListType = "statuslist+jwt"

// statusBits is how many bits an entry of a status list has.
const statusBits = 2

// StatusList holds the content of a status list token (IETF Token Status List).
type StatusList struct {
	URL        string      // The sub: address of the list itself.
	At         engine.Time // The iat, a whole second.
	TTL        engine.Time // How long a verifier may keep the token; it expires after twice that.
	Compressed string      // Made by CompressStatusList.
}

// CompressStatusList returns the lst member of a list: ZLIB, best compression, base64url.
// Within one release equal bits give equal text. Another release's compressor may give another
// text that decompresses to the same.
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

// Expires returns when nobody may rely on the list any more: a verifier that fetched it at the
// last moment may still keep it for the TTL.
func (l *StatusList) Expires() engine.Time { return l.At + 2*l.TTL }

// MintStatusList returns the token of a list. Equal input gives equal bytes.
func MintStatusList(l *StatusList, key crypto.Signer, kid string) (string, error) {
	dst := append(make([]byte, 0, len(l.Compressed)+256), `{"sub":`...)
	dst = jws.AppendQuoted(dst, l.URL)
	dst = strconv.AppendInt(append(dst, `,"iat":`...), int64(l.At/engine.Second), 10)
	dst = strconv.AppendInt(append(dst, `,"exp":`...), int64(l.Expires()/engine.Second), 10)
	dst = strconv.AppendInt(append(dst, `,"ttl":`...), int64(l.TTL/engine.Second), 10)
	dst = strconv.AppendInt(append(dst, `,"status_list":{"bits":`...), statusBits, 10)
	dst = append(append(append(dst, `,"lst":"`...), l.Compressed...), `"}}`...)
	return jws.Sign(dst, key, kid, StatusListType)
}
