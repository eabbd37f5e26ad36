package feed

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// oneMiBOfBlanks is 2^20 blanks as bzip2, for which Go has no writer.
const oneMiBOfBlanks = "QlpoOTFBWSZTWcpvsgcACApQAIAEQAAACCAAMMwFSepxBgFAYB4u5IpwoSGU32QO"

func unbase64(t testing.TB, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	return data
}

func openBytes(data []byte) (io.ReadCloser, error) {
	return Open(bytes.NewReader(data), int64(len(data)))
}

func TestKindOf(t *testing.T) {
	for name, want := range map[string]string{
		"SDN_ENHANCED.XML":               "SDN_ENHANCED.XML",
		"sdn_enhanced.xml.bz2":           "SDN_ENHANCED.XML",
		"Sdn_Enhanced.Zip":               "SDN_ENHANCED.XML",
		"sdn_enhanced.xml.zip":           "SDN_ENHANCED.XML",
		"sdn_advanced.xml.gz":            "SDN_ADVANCED.XML",
		"CONS_ADVANCED.XML.ZST":          "CONS_ADVANCED.XML",
		"cons_enhanced.xml":              "CONS_ENHANCED.XML",
		"sdn.csv":                        "SDN.CSV",
		"ALT.CSV.gz":                     "ALT.CSV",
		"add.csv.zip":                    "ADD.CSV",
		"sdn_comments.csv":               "SDN_COMMENTS.CSV",
		"cons_prim.csv":                  "CONS_PRIM.CSV",
		"cons_alt.csv":                   "CONS_ALT.CSV",
		"cons_add.csv":                   "CONS_ADD.CSV",
		"cons_comments.csv":              "CONS_COMMENTS.CSV",
		"sdn_enhanced.derived.xml.bz2":   "",
		"sdn_enhanced.sample.xml":        "",
		"sdn_enhanced":                   "",
		"sdn_enhanced.gz":                "",
		"sdn_enhanced.xml.gz.gz":         "",
		"sdn.zip":                        "",
		"sdn.xml":                        "",
		"add.csv.bak":                    "",
		"/etc/sdn.csv":                   "",
		"sdn_enhanced.xml\x00.bz2":       "",
		"sdn_enhanced.xml ":              "",
		"sanctioned_addresses_XBT.txt":   "",
		strings.Repeat("a", 100) + ".gz": "",
	} {
		kind, ok := KindOf(name)
		require.Equal(t, want != "", ok, name)
		if ok {
			require.Equal(t, want, kind.String(), name)
		}
	}
}

func TestOpenRoundTrip(t *testing.T) {
	content := sample(t, "advanced/sdn_advanced.xml")
	for name, stored := range map[string][]byte{
		"plain": content,
		"gzip":  gzipped(t, content),
		"zstd":  zstandard(t, content),
		"zip":   zipped(t, File{"x", content}),
	} {
		r, err := openBytes(stored)
		require.NoError(t, err, name)
		got, err := io.ReadAll(r)
		require.NoError(t, err, name)
		require.NoError(t, r.Close(), name)
		require.Equal(t, content, got, name)
	}
	r, err := openBytes(unbase64(t, oneMiBOfBlanks))
	require.NoError(t, err)
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, bytes.Repeat([]byte(" "), 1<<20), got)
}

// Content that unfolds beyond the bound is cut off at the bound.
func TestUnfoldBound(t *testing.T) {
	content := bytes.Repeat([]byte(" "), 1<<20)
	for name, packed := range map[string]struct {
		stored []byte
		form   compression
	}{
		"plain": {content, compressionNone},
		"gzip":  {gzipped(t, content), compressionGzip},
		"bzip2": {unbase64(t, oneMiBOfBlanks), compressionBzip2},
		"zstd":  {zstandard(t, content), compressionZstd},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := openCompressed(bytes.NewReader(packed.stored), packed.form, 1<<20)
			require.NoError(t, err)
			got, err := io.ReadAll(r)
			require.NoError(t, err)
			require.Len(t, got, 1<<20)

			r, err = openCompressed(bytes.NewReader(packed.stored), packed.form, 1<<20-1)
			require.NoError(t, err)
			got, err = io.ReadAll(r)
			requireRefused(t, err, ReasonTooLarge, "unfolds to more than 1048575 bytes")
			require.Len(t, got, 1<<20-1)
		})
	}
}

// A bomb of real size is refused: 1 GiB of well-formed elements in some 100 KB.
func TestRealBomb(t *testing.T) {
	skipHeavy(t)
	var stored bytes.Buffer
	w, err := zstd.NewWriter(&stored, zstd.WithEncoderLevel(zstd.SpeedFastest))
	require.NoError(t, err)
	_, err = fmt.Fprintf(w, `<sanctionsData xmlns=%q>`, namespaceEnhanced)
	require.NoError(t, err)
	block := bytes.Repeat([]byte("<referenceValues/>"), 1<<16)
	for written := 0; written <= UncompressedBytesMax; written += len(block) {
		_, err = w.Write(block)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.Less(t, stored.Len(), 1<<20)
	_, err = LoadFiles([]File{{"sdn_enhanced.xml.zst", stored.Bytes()}}, nil)
	requireRefused(t, err, ReasonTooLarge, "sdn_enhanced.xml.zst", "unfolds to more than")
}

// The parsers refuse a bomb of blanks after the bytes of one field.
func TestBlankBombs(t *testing.T) {
	blanks := bytes.Repeat([]byte(" "), 1<<20)
	for name, stored := range map[string][]byte{
		"sdn_enhanced.xml.gz":  gzipped(t, blanks),
		"sdn_enhanced.xml.bz2": unbase64(t, oneMiBOfBlanks),
		"sdn_advanced.xml.zst": zstandard(t, blanks),
		"SDN_ENHANCED.ZIP":     zipped(t, File{"x", blanks}),
	} {
		_, err := LoadFiles([]File{{name, stored}}, nil)
		requireRefused(t, err, ReasonTooLarge, name, "text longer than 65536 bytes")
	}
	set := []File{{"sdn.csv", blanks}, {"alt.csv", blanks}, {"add.csv", blanks}}
	_, err := LoadFiles(set, nil)
	requireRefused(t, err, ReasonTooLarge, "sdn.csv", "a field longer than 65536 bytes")
}

func TestCompressedFilesAreBounded(t *testing.T) {
	_, err := Open(bytes.NewReader(gzipped(t, nil)), CompressedBytesMax+1)
	requireRefused(t, err, ReasonTooLarge, "at most 268435456")
	_, err = Open(strings.NewReader("<a/>"), UncompressedBytesMax+1)
	requireRefused(t, err, ReasonTooLarge, "more than 1073741824")
	r, err := Open(strings.NewReader("<a/>"), UncompressedBytesMax)
	require.NoError(t, err)
	require.NoError(t, r.Close())
}

func TestZstdWindowIsBounded(t *testing.T) {
	// This frame header asks for a window of 2 GiB: descriptor 0, exponent 21.
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x01, 0x00, 0x00}
	r, err := openBytes(frame)
	require.NoError(t, err)
	_, err = io.ReadAll(r)
	requireRefused(t, err, ReasonTooLarge, "zstd")
}

func TestDamagedStreams(t *testing.T) {
	content := sample(t, "enhanced/SDN_ENHANCED.XML")
	whole := map[string][]byte{
		"sdn_enhanced.xml.gz":  gzipped(t, content),
		"sdn_enhanced.xml.zst": zstandard(t, content),
		"sdn_enhanced.xml.zip": zipped(t, File{"x", content}),
		"sdn_enhanced.xml.bz2": unbase64(t, oneMiBOfBlanks),
	}
	for name, stored := range whole {
		t.Run("cut "+name, func(t *testing.T) {
			for _, cut := range []int{5, len(stored) / 3, len(stored) / 2, len(stored) - 1} {
				_, err := LoadFiles([]File{{name, stored[:cut]}}, nil)
				var refused *Error
				require.ErrorAs(t, err, &refused, "cut at %d", cut)
				require.Equal(t, name, refused.File)
				require.Contains(t, []Reason{ReasonTruncated, ReasonCompression, ReasonMalformed, ReasonTooLarge}, refused.Reason, "%v", err)
			}
		})
		t.Run("flipped "+name, func(t *testing.T) {
			for at := len(stored) / 4; at < len(stored)-len(stored)/4; at += max(1, len(stored)/64) {
				damaged := bytes.Clone(stored)
				damaged[at] ^= 0x10
				_, err := LoadFiles([]File{{name, damaged}}, nil)
				require.Error(t, err, "flipped at %d", at) // Every compressed form has a checksum.
			}
		})
	}
	_, err := LoadFiles([]File{{"sdn_enhanced.xml.gz", append(gzipped(t, content), "a tail that is no member"...)}}, nil)
	requireRefused(t, err, ReasonCompression, "gzip")
	twice := gzipped(t, gzipped(t, content))
	_, err = LoadFiles([]File{{"sdn_enhanced.xml.gz", twice}}, nil)
	requireRefused(t, err, ReasonRoot, "an XML document was expected")
}

func TestZipRefusals(t *testing.T) {
	content := sample(t, "enhanced/SDN_ENHANCED.XML")
	good := zipped(t, File{"x.xml", content})
	end := len(good) - zipEndBytes

	var many []File
	for i := range ZipMembersMax + 1 {
		many = append(many, File{fmt.Sprint(i), nil})
	}
	var encrypted bytes.Buffer
	w := zip.NewWriter(&encrypted)
	f, err := w.CreateRaw(&zip.FileHeader{Name: "x", Flags: 1, CompressedSize64: 1, UncompressedSize64: 1})
	require.NoError(t, err)
	_, err = f.Write([]byte{0})
	require.NoError(t, err)
	require.NoError(t, w.Close())

	for name, test := range map[string]struct {
		stored []byte
		reason Reason
		text   string
	}{
		"too many members": {zipped(t, many...), ReasonTooLarge, "17 members"},
		"no member":        {zipped(t), ReasonEmpty, "without files"},
		"only a folder":    {zipped(t, File{"folder/", nil}), ReasonEmpty, "without files"},
		"encrypted":        {encrypted.Bytes(), ReasonCompression, "encrypted"},
		"no end record":    {good[:end], ReasonTruncated, "no directory"},
		"a large directory": {edited(good, func(b []byte) {
			binary.LittleEndian.PutUint32(b[end+zipDirectorySize:], ZipDirectoryBytesMax+1)
		}), ReasonTooLarge, "directory has 32769 bytes"},
		"zip64": {edited(good, func(b []byte) {
			binary.LittleEndian.PutUint16(b[end+zipRecordsAt:], 0xffff)
		}), ReasonTooLarge, "65535 members"},
		"a directory elsewhere": {edited(good, func(b []byte) {
			binary.LittleEndian.PutUint32(b[end+zipDirectoryAt:], 1)
		}), ReasonCompression, "not where its end record says"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openBytes(test.stored)
			requireRefused(t, err, test.reason, test.text)
		})
	}
}

func edited(data []byte, edit func([]byte)) []byte {
	data = bytes.Clone(data)
	edit(data)
	return data
}

// This zip's directory understates the unpacked size of its member.
func TestZipLyingSize(t *testing.T) {
	stored := zipped(t, File{"x", sample(t, "enhanced/SDN_ENHANCED.XML")})
	at := bytes.LastIndex(stored, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(stored[at+24:], 10) // The uncompressed size.
	_, err := LoadFiles([]File{{"SDN_ENHANCED.ZIP", stored}}, nil)
	require.Error(t, err)

	binary.LittleEndian.PutUint32(stored[at+24:], UncompressedBytesMax+1)
	_, err = openBytes(stored)
	requireRefused(t, err, ReasonTooLarge, "unfolds to more than")
}

func TestGzipMembersCount(t *testing.T) {
	// Two gzip members are one stream; the bound holds over both.
	half := bytes.Repeat([]byte(" "), 1<<10)
	var stored bytes.Buffer
	for range 2 {
		w := gzip.NewWriter(&stored)
		_, err := w.Write(half)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	r, err := openCompressed(&stored, compressionGzip, 1<<11-1)
	require.NoError(t, err)
	_, err = io.ReadAll(r)
	requireRefused(t, err, ReasonTooLarge)
}
