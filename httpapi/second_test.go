package httpapi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"math/big"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// oneCaller is a listener that has one connection, a pipe: what nobody reads is not
// written, and time is the bubble's.
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

// frame is one of HTTP/2.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	f := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))[1:]
	f = append(f, kind, flags)
	return append(binary.BigEndian.AppendUint32(f, stream), payload...)
}

// A caller of HTTP/2 that takes nothing of its answers keeps no call of the server:
// WriteTimeout alone does not end them, since what ends a stream is written, too.
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
		near, far := net.Pipe()
		listener := &oneCaller{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
		listener.conn <- far
		go func() { _ = server.ServeTLS(listener, "", "") }()

		caller := tls.Client(near, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		require.NoError(t, caller.Handshake())
		require.Equal(t, "h2", caller.ConnectionState().NegotiatedProtocol)
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
		require.NoError(t, near.Close())
		require.NoError(t, server.Close())
	})
}
