package feed

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// csvReader reads the dialect of OFAC's CSV files: no header; fields bare or in double
// quotes, with a doubled quote inside for one; records ended by CRLF or LF; a lone 0x1A
// after the last record. Unlike encoding/csv it bounds each field and does not take the end
// mark for a record.
type csvReader struct {
	source  *bufio.Reader
	columns int
	records int  // Number of records read so far.
	marked  bool // The end mark was seen.
	field   []byte
	fields  []string
}

// endMark is the control-Z that ends each of OFAC's CSV files.
const endMark = 0x1a

func newCSVReader(source io.Reader, columns int) *csvReader {
	return &csvReader{source: bufio.NewReaderSize(source, 64<<10), columns: columns}
}

// judgeStart checks the first bytes, before any record is read.
func (c *csvReader) judgeStart() error {
	head, err := c.source.Peek(sniffBytes)
	if len(head) == 0 {
		if err != nil && err != io.EOF {
			return readFailure(err)
		}
		return newRefusal(ReasonEmpty, "the file is empty")
	}
	if wideEncoding(head) {
		return newRefusal(ReasonEncoding, "the file is UTF-16 or UTF-32: ASCII or UTF-8 was expected")
	}
	if bytes.HasPrefix(head, markUTF8) {
		_, _ = c.source.Discard(len(markUTF8)) // This cannot fail: the bytes were peeked at.
		head = head[len(markUTF8):]
	}
	if head = bytes.TrimLeft(head, " \t\r\n"); len(head) > 0 && head[0] == '<' {
		return newRefusal(ReasonRoot, "the file begins with %s: a CSV file was expected", quoteShort(head))
	}
	return nil
}

// nextRecord returns the fields of the next record, valid until the next call, and
// io.EOF after the last one.
func (c *csvReader) nextRecord() ([]string, error) {
	c.fields = c.fields[:0]
	first, err := c.source.ReadByte()
	switch {
	case err == io.EOF:
		return nil, io.EOF
	case err != nil:
		return nil, readFailure(err)
	case first == endMark:
		c.marked = true
		return nil, c.onlyBlanks()
	}
	if c.records == CSVRecordsMax {
		return nil, newRefusal(ReasonTooLarge, "more than %d records", CSVRecordsMax)
	}
	c.records++
	if err := c.source.UnreadByte(); err != nil {
		return nil, c.failRecord(ReasonRead, "%v", err)
	}
	for more := true; more; {
		if more, err = c.readField(); err != nil {
			return nil, err
		}
		if c.field, err = checkedField(c.field); err != nil {
			return nil, c.atRecord(err)
		}
		c.fields = append(c.fields, string(c.field))
		if len(c.fields) == c.columns && more {
			return nil, c.failRecord(ReasonSchema, "more than %d fields", c.columns)
		}
	}
	if len(c.fields) != c.columns {
		return nil, c.failRecord(ReasonSchema, "%d fields: %d were expected", len(c.fields), c.columns)
	}
	return c.fields, nil
}

func checkedField(field []byte) ([]byte, error) {
	for _, b := range field {
		if classOf[b] == classControl {
			return nil, newRefusal(ReasonEncoding, "control character 0x%02x in a field", b)
		}
	}
	if !validUTF8(field) {
		return nil, newRefusal(ReasonEncoding, "bytes that are neither ASCII nor UTF-8 in %s", quoteShort(field))
	}
	return field, nil
}

// onlyBlanks checks that only white space follows the end mark.
func (c *csvReader) onlyBlanks() error {
	for {
		b, err := c.source.ReadByte()
		switch {
		case err == io.EOF:
			return io.EOF
		case err != nil:
			return readFailure(err)
		case classOf[b] != classBlank && b != endMark:
			return c.failRecord(ReasonMalformed, "more follows the end mark 0x1a")
		}
	}
}

// readField reads one field into c.field; more is true when a comma follows.
func (c *csvReader) readField() (more bool, err error) {
	c.field = c.field[:0]
	b, err := c.readByte()
	if err != nil {
		return false, err
	}
	if b == '"' {
		return c.readQuoted()
	}
	for {
		switch b {
		case ',':
			return true, nil
		case '\n':
			return false, nil
		case '\r':
			return false, c.lineFeed()
		case '"':
			return false, c.failRecord(ReasonMalformed, "a quote inside a bare field")
		}
		if err := c.addByte(b); err != nil {
			return false, err
		}
		if b, err = c.readByte(); err != nil {
			return false, err
		}
	}
}

// readQuoted reads a field whose opening quote was just read.
func (c *csvReader) readQuoted() (more bool, err error) {
	for {
		b, err := c.readByte()
		if err != nil {
			return false, err
		}
		if b == '"' {
			if b, err = c.readByte(); err != nil {
				return false, err
			}
			switch b {
			case ',':
				return true, nil
			case '\n':
				return false, nil
			case '\r':
				return false, c.lineFeed()
			case '"':
			default:
				return false, c.failRecord(ReasonMalformed, "text after a closing quote")
			}
		}
		if err := c.addByte(b); err != nil {
			return false, err
		}
	}
}

func (c *csvReader) addByte(b byte) error {
	if len(c.field) == FieldBytesMax {
		return c.failRecord(ReasonTooLarge, "a field longer than %d bytes", FieldBytesMax)
	}
	c.field = append(c.field, b)
	return nil
}

func (c *csvReader) lineFeed() error {
	b, err := c.readByte()
	if err == nil && b != '\n' {
		return c.failRecord(ReasonMalformed, "a carriage return without a line feed")
	}
	return err
}

// readByte reads a byte inside a record. The end of the file there means that the file is
// cut short.
func (c *csvReader) readByte() (byte, error) {
	b, err := c.source.ReadByte()
	switch {
	case err == nil:
		return b, nil
	case err == io.EOF:
		return 0, c.failRecord(ReasonTruncated, "the file ends inside a record: it is cut short")
	}
	return 0, readFailure(err)
}

func (c *csvReader) failRecord(reason Reason, format string, args ...any) error {
	return c.atRecord(newRefusal(reason, format, args...))
}

// atRecord adds the record's number to a refusal.
func (c *csvReader) atRecord(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	return newRefusal(e.Reason, "%s (in record %d)", e.Detail, c.records)
}
