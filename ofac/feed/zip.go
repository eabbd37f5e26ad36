package feed

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"path"
	"strings"
)

// The end-of-central-directory record of a zip archive (APPNOTE.TXT 4.3.16).
const (
	zipEndBytes      = 22
	zipEndCommentMax = 1<<16 - 1
	zipRecordsAt     = 10 // Offset of the number of members, 2 bytes.
	zipDirectorySize = 12 // Offset of the directory's length, 4 bytes.
	zipDirectoryAt   = 16 // Offset of the directory's place, 4 bytes.
)

var zipEndMark = []byte("PK\x05\x06")

// openZip lists the regular members of a zip archive. It checks the size of the directory
// first, since archive/zip reads all of it.
func openZip(stored io.ReaderAt, size int64) ([]member, error) {
	if err := judgeZipDirectory(stored, size); err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(stored, size)
	if err != nil {
		return nil, refuseWith(err, ReasonCompression, "zip: %v", err)
	}
	var members []member
	for _, file := range archive.File {
		if file.FileInfo().IsDir() {
			continue
		}
		if file.Flags&1 != 0 {
			return nil, newRefusal(ReasonCompression, "zip member %q is encrypted", file.Name)
		}
		if file.UncompressedSize64 > UncompressedBytesMax {
			return nil, tooLarge(UncompressedBytesMax)
		}
		members = append(members, member{name: memberName(file.Name), open: func() (io.ReadCloser, error) {
			r, err := file.Open()
			if err != nil {
				return nil, refuseWith(err, ReasonCompression, "zip member %q: %v", file.Name, err)
			}
			return &bounded{source: r, form: "zip", max: UncompressedBytesMax, release: func() { r.Close() }}, nil
		}})
	}
	if len(members) == 0 {
		return nil, newRefusal(ReasonEmpty, "a zip archive without files")
	}
	return members, nil
}

// memberName returns the last element of a member's path. It is only compared with the
// published names, never used as a path.
func memberName(name string) string {
	return path.Base(strings.ReplaceAll(name, `\`, "/"))
}

// judgeZipDirectory finds the end record and refuses a directory that is too large or does
// not end directly before that record. It thereby refuses the zip64 form, whose second
// record would override this one: it marks itself by values beyond both bounds.
func judgeZipDirectory(stored io.ReaderAt, size int64) error {
	tail := make([]byte, min(size, zipEndBytes+zipEndCommentMax))
	if n, err := stored.ReadAt(tail, size-int64(len(tail))); n < len(tail) {
		return refuseWith(err, ReasonRead, "reading: %v", err)
	}
	at := lastZipEnd(tail)
	if at < 0 {
		return newRefusal(ReasonTruncated, "the zip archive has no directory: it is cut short")
	}
	record := tail[at:]
	if n := int(binary.LittleEndian.Uint16(record[zipRecordsAt:])); n > ZipMembersMax {
		return newRefusal(ReasonTooLarge, "a zip archive of %d members: at most %d were expected", n, ZipMembersMax)
	}
	length := int64(binary.LittleEndian.Uint32(record[zipDirectorySize:]))
	place := int64(binary.LittleEndian.Uint32(record[zipDirectoryAt:]))
	if length > ZipDirectoryBytesMax {
		return newRefusal(ReasonTooLarge, "the zip archive's directory has %d bytes: at most %d were expected", length, ZipDirectoryBytesMax)
	}
	if place+length != size-int64(len(tail))+int64(at) {
		return newRefusal(ReasonCompression, "the zip archive's directory is not where its end record says")
	}
	return nil
}

// lastZipEnd finds the last end record whose comment fits into the bytes after it.
func lastZipEnd(tail []byte) int {
	for at := len(tail) - zipEndBytes; at >= 0; at-- {
		if !bytes.HasPrefix(tail[at:], zipEndMark) {
			continue
		}
		comment := int(binary.LittleEndian.Uint16(tail[at+zipEndBytes-2:]))
		if at+zipEndBytes+comment <= len(tail) {
			return at
		}
	}
	return -1
}
