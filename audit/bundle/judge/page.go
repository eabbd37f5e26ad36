package judge

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
)

//go:generate go run railguard/.ci/judge

//go:embed built
var built embed.FS

// pageName is where .ci/judge writes the page.
const pageName = "built/page.html.gz"

// Page returns the page; nil if this program was built without it.
func Page() []byte {
	packed, err := built.ReadFile(pageName)
	if err != nil {
		return nil
	}
	page, err := unpack(packed)
	if err != nil {
		panic(fmt.Sprintf("BUG: %s: %v", pageName, err))
	}
	return page
}

func unpack(packed []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

// Digest returns the SHA-256 of the page, in hex; "" if this program was built without it.
func Digest() string {
	page := Page()
	if page == nil {
		return ""
	}
	sum := sha256.Sum256(page)
	return hex.EncodeToString(sum[:])
}
