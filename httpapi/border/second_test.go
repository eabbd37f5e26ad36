package border

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"math/big"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// oneCaller is a listener with one connection, a pipe. What nobody reads is not written,
// and the synctest bubble controls time.
type oneCaller struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l *oneCaller) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conn:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *oneCaller) Close() error   { close(l.closed); return nil }
func (l *oneCaller) Addr() net.Addr { return &net.TCPAddr{} }

func ownCertificate(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// frame makes one HTTP/2 frame.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	f := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))[1:]
	f = append(f, kind, flags)
	return append(binary.BigEndian.AppendUint32(f, stream), payload...)
}

// callerOf serves one HTTP/2 connection, a pipe, and returns its other end.
func callerOf(t *testing.T, server *http.Server) *tls.Conn {
	near, far := net.Pipe()
	listener := &oneCaller{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
	listener.conn <- far
	go func() { _ = server.ServeTLS(listener, "", "") }()
	caller := tls.Client(near, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	require.NoError(t, caller.Handshake())
	require.Equal(t, "h2", caller.ConnectionState().NegotiatedProtocol)
	return caller
}

// An HTTP/2 caller that does not finish a header loses its connection, whether it sends
// nothing more or piece after piece. A connection that is silent between calls stays.
func TestHalfAHeaderOfHTTP2(t *testing.T) {
	certificate := ownCertificate(t)
	serve := func() *http.Server {
		return NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
			ServerLimits{TLS: &tls.Config{Certificates: []tls.Certificate{certificate}, SessionTicketsDisabled: true}})
	}
	for name, dripping := range map[string]bool{"then nothing": false, "in drops": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := serve()
				caller := callerOf(t, server)
				gone := make(chan struct{})
				go func() {
					defer close(gone)
					_, _ = io.Copy(io.Discard, caller)
				}()
				out := append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0, nil)...)
				_, err := caller.Write(append(out, frame(1, 0, 1, []byte{0x82})...)) // The frame has no END_HEADERS.
				require.NoError(t, err)
				begun := time.Now()
				for dripping && err == nil {
					time.Sleep(time.Second)
					_, err = caller.Write(frame(9, 0, 1, nil))
				}
				<-gone
				require.LessOrEqual(t, time.Since(begun), pingAfter+pingTimeout+5*time.Second) // TLS takes up to five seconds to close.
				_ = caller.NetConn().Close()
				require.NoError(t, server.Close())
			})
		})
	}
	t.Run("between calls", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server := serve()
			caller, calls := callerOf(t, server), 0
			transport := &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
				calls++
				return caller, nil
			}}
			for range 3 {
				answer, err := (&http.Client{Transport: transport}).Get("https://railguard.example/")
				require.NoError(t, err)
				require.NoError(t, answer.Body.Close())
				require.Equal(t, 2, answer.ProtoMajor)
				time.Sleep(idleTimeout - time.Second)
			}
			require.Equal(t, 1, calls)
			transport.CloseIdleConnections()
			require.NoError(t, server.Close())
		})
	})
}

// HTTP/2 callers that read nothing of their answers hold no call of the server.
// WriteTimeout alone does not end such calls, since the frame that ends a stream has to be
// written too.
func TestAnswersThatNobodyTakes(t *testing.T) {
	certificate := ownCertificate(t)
	synctest.Test(t, func(t *testing.T) {
		const calls = 20
		begun, ended := make(chan struct{}, calls), make(chan error, calls)
		server := NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			begun <- struct{}{}
			_, err := w.Write(make([]byte, 1<<20))
			ended <- err
		}), ServerLimits{TLS: &tls.Config{Certificates: []tls.Certificate{certificate}, SessionTicketsDisabled: true}})
		caller := callerOf(t, server)
		out := append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0, nil)...)
		head := append([]byte{0x82, 0x87, 0x84, 0x01, 1}, 'x') // GET, https, /, and an authority.
		for i := range calls {
			out = append(out, frame(1, 5, uint32(2*i+1), head)...)
		}
		_, err := caller.Write(out)
		require.NoError(t, err)
		for range calls {
			<-begun
		}
		for range calls {
			require.Error(t, <-ended)
		}
		require.NoError(t, caller.NetConn().Close())
		require.NoError(t, server.Close())
	})
}
