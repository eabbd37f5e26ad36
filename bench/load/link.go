package load

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"time"
)

const (
	exchangePatience = 5 * time.Second // The service promises an answer within 2 s.
	dialPatience     = 3 * time.Second
	replyBytesMax    = 4 << 20
	headerLinesMax   = 64
)

// endpoint is where a node listens.
type endpoint struct {
	url  string // http://host:port, without a slash at its end.
	addr string
	tls  *tls.Config // nil: plain text.
}

func parseEndpoint(text string) (*endpoint, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("target %q: %w", text, err)
	}
	e := &endpoint{url: u.Scheme + "://" + u.Host, addr: u.Host}
	switch {
	case u.Host == "" || u.Path != "" && u.Path != "/":
		return nil, fmt.Errorf("target %q: want http://host:port", text)
	case u.Scheme == "http" && u.Port() == "":
		e.addr = net.JoinHostPort(u.Hostname(), "80")
	case u.Scheme == "https":
		e.tls = &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
		if u.Port() == "" {
			e.addr = net.JoinHostPort(u.Hostname(), "443")
		}
	case u.Scheme != "http":
		return nil, fmt.Errorf("target %q: the scheme must be http or https", text)
	}
	return e, nil
}

// reply is one answer; body is valid until the link's next exchange.
type reply struct {
	status  int
	body    []byte
	outcome string // X-Railguard-Outcome of a 503.
}

// link is one keep-alive connection of HTTP/1.1. It is written by hand because a
// loader shares the machine with what it loads: net/http's client would cost as much
// as a verdict.
type link struct {
	homes  []*endpoint
	at     int // Index of the home in use. After a broken connection it is the next home's.
	conn   net.Conn
	reader *bufio.Reader
	body   []byte
}

func newLink(homes []*endpoint, at int) *link {
	return &link{homes: homes, at: at % len(homes), reader: bufio.NewReaderSize(nil, 4096)}
}

func (l *link) close() {
	if l.conn != nil {
		_ = l.conn.Close() // A failed close loses nothing.
		l.conn = nil
	}
}

// leave closes the connection; the next one goes to the next home.
func (l *link) leave() {
	l.close()
	l.at = (l.at + 1) % len(l.homes)
}

func (l *link) dial() error {
	home := l.homes[l.at]
	conn, err := net.DialTimeout("tcp", home.addr, dialPatience)
	if err != nil {
		return err
	}
	if home.tls != nil {
		conn = tls.Client(conn, home.tls)
	}
	l.conn = conn
	l.reader.Reset(conn)
	return nil
}

// connect dials if there is no connection. It tries one home after the other.
func (l *link) connect() {
	for range l.homes {
		if l.conn != nil || l.dial() == nil {
			return
		}
		l.leave()
	}
}

// greet makes a first call on the connection.
func (l *link) greet() {
	if _, err := l.exchange([]byte("GET /livez HTTP/1.1\r\nHost: railguard\r\n\r\n")); err != nil {
		l.leave()
	}
}

// send writes a request. If there is no connection, it dials first.
func (l *link) send(request []byte) error {
	if l.conn == nil {
		if err := l.dial(); err != nil {
			return err
		}
	}
	if err := l.conn.SetDeadline(time.Now().Add(exchangePatience)); err != nil {
		return err
	}
	_, err := l.conn.Write(request)
	return err
}

func (l *link) exchange(request []byte) (reply, error) {
	err := l.send(request)
	if err != nil {
		return reply{}, err
	}
	return l.receive()
}

var errLongAnswer = errors.New("answer too long")

// receive reads the answer to what was sent.
func (l *link) receive() (reply, error) {
	line, err := l.line()
	if err != nil {
		return reply{}, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return reply{}, fmt.Errorf("no HTTP answer: %.40q", line)
	}
	var r reply
	if r.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return reply{}, fmt.Errorf("no HTTP answer: %.40q", line)
	}
	length, chunked, closing := -1, false, false
	for range headerLinesMax {
		if line, err = l.line(); err != nil {
			return reply{}, err
		}
		if len(line) == 0 {
			return r, l.readBody(&r, length, chunked, closing)
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil || length > replyBytesMax {
				return reply{}, errLongAnswer
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = true
		case bytes.EqualFold(name, []byte("Connection")):
			closing = bytes.EqualFold(value, []byte("close"))
		case bytes.EqualFold(name, []byte("X-Railguard-Outcome")):
			r.outcome = string(value)
		}
	}
	return reply{}, errors.New("too many header lines")
}

// line reads one line without its end; it is valid until the next read.
func (l *link) line() ([]byte, error) {
	line, err := l.reader.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

func (l *link) readBody(r *reply, length int, chunked, closing bool) error {
	l.body = l.body[:0]
	var err error
	switch {
	case chunked:
		err = l.readChunks()
	case length >= 0:
		err = l.readBytes(length)
	default:
		return errors.New("an answer without a length")
	}
	r.body = l.body
	if closing {
		l.close()
	}
	return err
}

func (l *link) readBytes(count int) error {
	from := len(l.body)
	if need := from + count; need > cap(l.body) {
		l.body = append(make([]byte, 0, need+512), l.body...)
	}
	l.body = l.body[:from+count]
	_, err := io.ReadFull(l.reader, l.body[from:])
	return err
}

func (l *link) readChunks() error {
	for {
		line, err := l.line()
		if err != nil {
			return err
		}
		size, err := strconv.ParseUint(string(line), 16, 32)
		if err != nil || len(l.body)+int(size) > replyBytesMax {
			return errLongAnswer
		}
		if err := l.readBytes(int(size)); err != nil {
			return err
		}
		if _, err := l.line(); err != nil {
			return err
		}
		if size == 0 {
			return nil
		}
	}
}
