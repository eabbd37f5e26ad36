package credential_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"fmt"
	"strings"

	"railguard/engine"
	"railguard/engine/credential"
	"railguard/engine/jws"
)

// A token is a pure function of what was registered and of a key: any node mints the same bytes
// again. A token names its subject but never states that party's status.
func Example() {
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), []byte(strings.Repeat("k", 32)))
	if err != nil {
		panic(err)
	}
	registered := &credential.Credential{
		Kind: credential.KindAgent, ID: "urn:uuid:0190a1b2-0000-8000-8000-000000000001", Issuer: "did:kya:railguard",
		ContextURL: "https://guard.example.org/contexts/kya/v1", Subject: "agt_8f3k2m7q7txx",
		IssuedAt: 1_774_150_408 * engine.Second, ExpiresAt: 1_774_150_408*engine.Second + engine.AgentValidity,
		Name: "buyer-1", AgentType: "supervised", OperatorLegalName: "Acme Inc", ScreenedAt: 1_774_150_408 * engine.Second,
	}
	token, _, err := credential.Mint(registered, key, "cc-v1")
	if err != nil {
		panic(err)
	}
	again, _, _ := credential.Mint(registered, key, "cc-v1")
	fmt.Println("minted twice, the same bytes:", token == again)

	point, _ := jws.PublicPoint(&key.PublicKey)
	keys, err := credential.NewKeySet("did:kya:railguard", []jws.PublicKey{{ID: "cc-v1", Point: point}})
	if err != nil {
		panic(err)
	}
	bare, ok := credential.StripPrefix("Bearer " + token)
	claims, err := keys.Open(bare)
	fmt.Println(ok, claims.Subject, err)

	_, err = keys.Open(strings.Replace(bare, ".", ".A", 1))
	fmt.Println("altered:", credential.State(err) != engine.TokenGood)
	// Output:
	// minted twice, the same bytes: true
	// true agt_8f3k2m7q7txx <nil>
	// altered: true
}
