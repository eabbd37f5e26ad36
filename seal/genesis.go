package seal

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"railguard/audit/note"
	"railguard/engine"
	"railguard/fsm/wire"
)

// AdminKeyLength is how long an API key with the role admin is good if nobody said how long.
const AdminKeyLength = 90 * engine.DayLength

// GenesisOptions are an operator's choices for a new cluster.
type GenesisOptions struct {
	Secrets   *Secrets
	Issuer    string // did:kya:…; "" is did:kya:railguard.
	PublicURL string // https://…, without a trailing slash.
	Dev       bool   // The embedded sample list may be used.
	TestClock bool
	APISecret string      // Secret of the first API key; "" makes none.
	APILength engine.Time // How long the first API key is good; 0: for ever.
}

// FirstKID is the kid of a cluster's first signing key (specification 4.10).
const FirstKID = "cc-v1"

// A sandbox has its own issuer and first signing key. So a sandbox's credential is not good
// where payments are real, and the other way round.
const (
	SandboxIssuer = "did:kya:railguard-sandbox"
	SandboxKID    = "sandbox-v1"
)

// FirstPermitKID is the kid of a cluster's first key for permits, SandboxPermitKID that of a sandbox.
const (
	FirstPermitKID   = "pm-v1"
	SandboxPermitKID = "sandbox-pm-v1"
)

// NewGenesis draws every secret of a new cluster. It does so before anything is replicated,
// because applying an entry draws no randomness.
func NewGenesis(o GenesisOptions) (wire.Genesis, error) {
	if o.Secrets == nil || len(o.Secrets.cluster) < clusterSecretMin {
		return wire.Genesis{}, fmt.Errorf("cluster secret: at least %d bytes", clusterSecretMin)
	}
	if o.Issuer == "" {
		o.Issuer = "did:kya:railguard"
	}
	host, err := publicHost(o.PublicURL)
	if err != nil {
		return wire.Genesis{}, err
	}
	if !strings.HasPrefix(o.Issuer, "did:kya:") || len(o.Issuer) <= len("did:kya:") {
		return wire.Genesis{}, errors.New("issuer: must be did:kya:<name>")
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // crypto/rand never fails.
	g := wire.Genesis{
		ClusterID: "cl_" + hex.EncodeToString(random[:8]), Dev: o.Dev, TestClock: o.TestClock,
		Issuer: o.Issuer, PublicURL: strings.TrimSuffix(o.PublicURL, "/"), Policy: *engine.DefaultPolicy(),
	}
	_, _ = rand.Read(g.IDKey[:])
	_, _ = rand.Read(g.SaltKey[:])
	kid, permits := FirstKID, FirstPermitKID
	if o.Issuer == SandboxIssuer {
		kid, permits = SandboxKID, SandboxPermitKID
	}
	if g.SigningKey, err = NewSigningKey(o.Secrets, kid); err != nil {
		return wire.Genesis{}, err
	}
	if g.PermitKey, err = NewSigningKey(o.Secrets, permits); err != nil {
		return wire.Genesis{}, err
	}
	if err := sealGenesis(&g, o.Secrets, host); err != nil {
		return wire.Genesis{}, err
	}
	if o.APISecret != "" {
		g.APIKey = &wire.APIKey{
			ID: NewKeyID(), Name: "bootstrap", Prefix: KeyPrefix(o.APISecret),
			Hashes: [][]byte{HashAPISecret(o.APISecret)}, Roles: wire.RoleAdmin,
		}
		if o.APILength > 0 {
			g.APIKey.ExpiresAt = engine.Time(time.Now().UnixNano()) + o.APILength
		}
	}
	return g, nil
}

func publicHost(text string) (string, error) {
	address, err := url.Parse(text)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return "", fmt.Errorf("public URL %q: must be http(s)://host[:port]", text)
	}
	return address.Host, nil
}

// sealGenesis adds the checkpoint signer's seed, its verifier keys, and the constant that lets
// a node check whether it was given the right cluster secret.
func sealGenesis(g *wire.Genesis, secrets *Secrets, host string) error {
	seed := make([]byte, note.SeedSize)
	_, _ = rand.Read(seed)
	signer, err := note.NewSigner(host+"/"+g.ClusterID, seed)
	if err != nil {
		return fmt.Errorf("checkpoint signer: %w", err)
	}
	g.LogKeys = signer.VerifierKeys()
	if g.LogSeed, err = secrets.Seal(LabelLogSeed, seed); err != nil {
		return err
	}
	g.SecretCheck, err = secrets.Seal(LabelCheck, []byte(secretCheckText))
	return err
}

// NewLogSeed draws the seed of new checkpoint keys and seals it.
func NewLogSeed(secrets *Secrets) ([]byte, error) {
	seed := make([]byte, note.SeedSize)
	_, _ = rand.Read(seed) // crypto/rand never fails.
	return secrets.Seal(LabelLogSeed, seed)
}

// NewSigningKey draws a P-256 key and seals its scalar under the cluster secret.
func NewSigningKey(secrets *Secrets, kid string) (wire.SigningKey, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return wire.SigningKey{}, fmt.Errorf("P-256 key: %w", err)
	}
	scalar, err := private.Bytes()
	if err != nil {
		return wire.SigningKey{}, fmt.Errorf("P-256 scalar: %w", err)
	}
	public, err := private.PublicKey.Bytes()
	if err != nil {
		return wire.SigningKey{}, fmt.Errorf("P-256 point: %w", err)
	}
	sealed, err := secrets.Seal(LabelSigningKey, scalar)
	if err != nil {
		return wire.SigningKey{}, err
	}
	return wire.SigningKey{KID: kid, Public: public[1:], Sealed: sealed}, nil
}

// OpenSigningKey unseals one key and checks that it belongs to the published one.
func (s *Secrets) OpenSigningKey(key *wire.SigningKey) (*ecdsa.PrivateKey, error) {
	scalar, err := s.Open(LabelSigningKey, key.Sealed)
	if err != nil {
		return nil, err
	}
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar)
	if err != nil {
		return nil, fmt.Errorf("P-256 scalar: %w", err)
	}
	public, err := private.PublicKey.Bytes()
	if err != nil || !slices.Equal(public[1:], key.Public) {
		return nil, errSealed
	}
	return private, nil
}
