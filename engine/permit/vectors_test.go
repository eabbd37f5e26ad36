package permit_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/engine/jws"
	"railguard/engine/permit"
	"railguard/engine/vectors"
)

type permitVectors struct {
	Now              int64
	Issuer, Audience string
	JWKS             struct {
		Keys []struct{ Kid, X, Y string }
	}
	SigningKey struct{ D string }
	Claims     struct {
		Iss, Sub, Aud, Jti string
		Iat, Exp           int64
		Pay                struct{ Amount, Chain, Payee, Payer, Rail, Ref string }
		Lists              struct {
			V           uint64
			Digest      string
			Of          []struct{ ID, AsOf string }
			Age, MaxAge int64
		}
		Policy uint64
		Rules  string
		Log    struct {
			Origin string
			Leaf   uint64
			Hash   string
		}
		Cnf struct{ Jkt string }
		Pop string
	}
	Good []struct {
		Name, Permit, Audience, Issuer string
		At                             int64
	}
	Bad []struct{ Name, Permit, Reason string }
}

func (v *permitVectors) want(t *testing.T) permit.Want {
	var public []jws.PublicKey
	for _, key := range v.JWKS.Keys {
		if !permit.IsKeyID(key.Kid) {
			continue
		}
		x, err := base64.RawURLEncoding.DecodeString(key.X)
		require.NoError(t, err)
		y, err := base64.RawURLEncoding.DecodeString(key.Y)
		require.NoError(t, err)
		public = append(public, jws.PublicKey{ID: key.Kid, Point: append(x, y...)})
	}
	set, err := jws.NewKeySet(public)
	require.NoError(t, err)
	return permit.Want{Keys: set, Issuer: v.Issuer, Audience: v.Audience, Now: engine.Time(v.Now) * engine.Second}
}

// TestPermitVectors: others' libraries accept the good permits and refuse the bad ones, and the same
// claims and key give the same bytes (statements P02, P03, P08).
func TestPermitVectors(t *testing.T) {
	var v permitVectors
	vectors.Read(t, "permit.json", &v)
	for _, good := range v.Good {
		want := v.want(t)
		if good.Audience != "" {
			want.Audience = good.Audience
		}
		if good.Issuer != "" {
			want.Issuer = good.Issuer
		}
		if good.At != 0 {
			want.Now = engine.Time(good.At) * engine.Second
		}
		_, err := permit.Verify(good.Permit, &want)
		require.NoError(t, err, good.Name)
	}
	require.NotEmpty(t, v.Bad)
	for _, bad := range v.Bad {
		want := v.want(t)
		_, err := permit.Verify(bad.Permit, &want)
		require.Equal(t, bad.Reason, string(reasonOf(err)), "%s: %v", bad.Name, err)
	}
	c := &v.Claims
	amount, err := engine.ParseUSD(c.Pay.Amount)
	require.NoError(t, err)
	p := &permit.Permit{
		Issuer: c.Iss, Subject: c.Sub, Audience: c.Aud, TxnID: c.Jti, IssuedAt: engine.Time(c.Iat) * engine.Second, Expires: engine.Time(c.Exp) * engine.Second,
		Pay:    permit.Pay{Amount: amount, Chain: c.Pay.Chain, Payee: c.Pay.Payee, Payer: c.Pay.Payer, Rail: c.Pay.Rail, Ref: c.Pay.Ref},
		Others: true, Policy: c.Policy, Rules: c.Rules, Thumbprint: c.Cnf.Jkt, Proof: c.Pop,
		Lists: permit.Lists{Version: c.Lists.V, Age: engine.Time(c.Lists.Age) * engine.Second, AgeMost: engine.Time(c.Lists.MaxAge) * engine.Second},
		Log:   permit.Log{Origin: c.Log.Origin, Leaf: c.Log.Leaf},
	}
	_, err = hex.Decode(p.Lists.Digest[:], []byte(c.Lists.Digest))
	require.NoError(t, err)
	for _, of := range c.Lists.Of {
		p.Lists.Of = append(p.Lists.Of, permit.Publication{List: of.ID, AsOf: of.AsOf})
	}
	hash, err := base64.RawURLEncoding.DecodeString(c.Log.Hash)
	require.NoError(t, err)
	copy(p.Log.Hash[:], hash)
	scalar, err := base64.RawURLEncoding.DecodeString(v.SigningKey.D)
	require.NoError(t, err)
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar)
	require.NoError(t, err)
	token, err := permit.Sign(p, key, "pm-v1")
	require.NoError(t, err)
	require.Equal(t, v.Good[0].Permit, token, "the same claims and key give the same bytes")
}

// TestPayVectors: the request is read by the rooms that screen it; here the
// statement is built from its members.
func TestPayVectors(t *testing.T) {
	var v struct {
		Cases []struct {
			Name, Jti, JCS string
			Hash           string `json:"pay_hash"`
			Pay            struct {
				Amount, Asset, Chain, Nonce, Payee, Payer, Rail, Ref, Units string
				PayeeIDs                                                    []string
			}
		}
	}
	vectors.Read(t, "pay.json", &v)
	require.NotEmpty(t, v.Cases)
	for _, c := range v.Cases {
		amount, err := engine.ParseUSD(c.Pay.Amount)
		require.NoError(t, err)
		pay := permit.Pay{
			Amount: amount, Asset: c.Pay.Asset, Chain: c.Pay.Chain, Nonce: c.Pay.Nonce, Payee: c.Pay.Payee, PayeeIDs: c.Pay.PayeeIDs,
			Payer: c.Pay.Payer, Rail: c.Pay.Rail, Ref: c.Pay.Ref, Units: c.Pay.Units,
		}
		require.Equal(t, c.JCS, string(pay.AppendJSON(nil)), c.Name)
		require.Equal(t, c.Hash, pay.Hash(), c.Name)
	}
	require.Equal(t, "0TjPglfkmmzzHrbHK_mJys5XSzg_W0U-DTlnGZ0T_2Y", permit.PayeeID("txn_7Kq2mZ9e", permit.KindName, strings.TrimSpace(" Müller & Söhne GmbH")))
}
