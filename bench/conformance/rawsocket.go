package conformance

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const rawTimeout = 5 * time.Second

// dial opens a plain connection to the first node.
func (s *suite) dial(ctx context.Context) (net.Conn, error) {
	address, err := url.Parse(s.cfg.BaseURLs[0])
	if err != nil {
		return nil, err
	}
	host := address.Host
	if address.Port() == "" {
		host = net.JoinHostPort(address.Hostname(), map[string]string{"https": "443"}[address.Scheme])
		if address.Scheme != "https" {
			host = net.JoinHostPort(address.Hostname(), "80")
		}
	}
	dialer := net.Dialer{Timeout: rawTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil || address.Scheme != "https" {
		return conn, err
	}
	return tls.Client(conn, &tls.Config{ServerName: address.Hostname(), MinVersion: tls.VersionTLS12}), nil
}

// rawAnswer is the answer on a raw connection. A status of 0 means that the connection was closed
// or silent, without an answer.
type rawAnswer struct {
	status int
	header http.Header
	body   string
	rest   string // The bytes that followed the first answer on the same connection.
}

// raw writes the bytes as they are and reads one answer and what follows it.
// "HOST" in the text stands for the target's host.
func (p *probe) raw(text string) rawAnswer {
	conn, err := p.dial(p.ctx)
	p.must(err == nil, "raw connection: %v", err)
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(rawTimeout))
	address, _ := url.Parse(p.cfg.BaseURLs[0])
	text = strings.ReplaceAll(text, "HOST", address.Host)
	if _, err := io.WriteString(conn, text); err != nil {
		return rawAnswer{} // The connection was closed before everything was sent, which is a refusal without an answer.
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return rawAnswer{}
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	_ = response.Body.Close()
	_ = conn.SetDeadline(time.Now().Add(200 * time.Millisecond))
	rest, _ := io.ReadAll(io.LimitReader(reader, 1<<20))
	return rawAnswer{status: response.StatusCode, header: response.Header, body: string(body), rest: string(rest)}
}

// rawPost is the text of a POST with its own headers; each header ends in CR LF. It
// asks for the connection to be closed, so that nothing is waited for afterwards.
func (p *probe) rawPost(path, headers, body string) string {
	return p.rawPostKept(path, "Connection: close\r\n"+headers, body)
}

// rawPostKept is rawPost on a connection that is kept, for probes of a second answer.
func (p *probe) rawPostKept(path, headers, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%s\r\n%s",
		path, p.cfg.APIKey, headers, body)
}
