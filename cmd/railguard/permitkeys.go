package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"railguard/engine/jws"
	"railguard/engine/permit"
)

// keySetMax bounds a key set, in bytes.
const keySetMax = 1 << 20

// keys returns the keys for permits, from --keys or from the issuer.
func (v *permitVerification) keys(ctx context.Context) (*jws.KeySet, error) {
	if v.keysFile != "" {
		data, err := os.ReadFile(v.keysFile)
		if err != nil {
			return nil, usageError("--keys: %w", err)
		}
		set, err := readKeySet(data, v.sandbox)
		if err != nil {
			return nil, usageError("--keys: %w", err)
		}
		return set, nil
	}
	address, err := url.Parse(v.want.Issuer)
	if err != nil || address.Host == "" || address.Scheme != "https" && !(address.Scheme == "http" && isThisMachine(address.Hostname())) {
		return nil, usageError("--issuer: keys are fetched by https alone: give --keys, or an https address")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(v.want.Issuer, "/")+"/v1/.well-known/jwks.json", nil)
	if err != nil {
		return nil, usageError("--issuer: %w", err)
	}
	data, err := v.fetchKeySet(request)
	if err != nil {
		return nil, err
	}
	set, err := readKeySet(data, v.sandbox)
	if err != nil {
		return nil, &exitError{code: exitAway, err: fmt.Errorf("the issuer's keys: %w", err)}
	}
	return set, nil
}

func isThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// fetchKeySet fetches the key set that the issuer publishes. Nobody signs it, so it comes by https
// from there and nowhere else, or from this machine.
func (v *permitVerification) fetchKeySet(request *http.Request) ([]byte, error) {
	own := *v.http
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := own.Do(request)
	if err != nil {
		return nil, &exitError{code: exitAway, err: fmt.Errorf("the issuer's keys: %w", err)}
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, keySetMax+1))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %d", response.StatusCode)
	}
	if err != nil {
		return nil, &exitError{code: exitAway, err: fmt.Errorf("the issuer's keys: %w", err)}
	}
	return data, nil
}

// readObject reads one JSON object in which no member stands twice.
func readObject(data []byte) (*jws.Value, error) {
	document, err := jws.ReadObject(data)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), jws.ErrMalformed.Error()+": ")) // It is no token.
	}
	return document, nil
}

// readKeySet reads the keys for permits out of a key set. The other keys of it, those of credentials,
// and what is no good key are left out: no permit is verified with them.
func readKeySet(data []byte, sandbox bool) (*jws.KeySet, error) {
	document, err := readObject(data)
	if err != nil {
		return nil, err
	}
	list := document.Member("keys")
	if list == nil || list.Kind != '[' {
		return nil, errors.New("it is no key set: it has no list of keys")
	}
	var keys []jws.PublicKey
	for i := range list.Elements {
		key := &list.Elements[i]
		kid := key.TextOf("kid")
		if !permit.IsKeyID(kid) || strings.HasPrefix(kid, permit.SandboxPrefix) && !sandbox {
			continue
		}
		x, errX := jws.DecodeSegment(key.TextOf("x"))
		y, errY := jws.DecodeSegment(key.TextOf("y"))
		one := jws.PublicKey{ID: kid, Point: append(x, y...)}
		if key.TextOf("kty") != "EC" || key.TextOf("crv") != "P-256" || errX != nil || errY != nil || len(x) != len(y) {
			continue
		}
		if _, err := jws.NewKeySet([]jws.PublicKey{one}); err == nil {
			keys = append(keys, one)
		}
	}
	return jws.NewKeySet(keys)
}
