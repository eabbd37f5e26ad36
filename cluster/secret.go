package cluster

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"

	"railguard/cluster/port"
)

const (
	challengeSize = 32
	// secretUse separates these proofs from all other uses of the secret.
	secretUse = "railguard: proof of the cluster secret"
)

var errSecret = errors.New("has another cluster secret than this node")

// secretProver proves and checks knowledge of the cluster secret. If nodes show certificates,
// these say which machine it is, and nothing about the secret. A node without the secret cannot
// open the group's keys and ends; as a member it would never answer. So no node becomes a
// member before it has proven the secret.
type secretProver struct {
	secret          []byte
	also            [][]byte // Secrets accepted from others.
	id, incarnation string
}

// proveSecret answers a challenge as the node with this id and folder. The proof is valid for
// no other node, so nobody can let a member make it and show it as its own.
func (s *secretProver) proveSecret(challenge []byte, id, incarnation string) []byte {
	return proofBy(s.secret, challenge, id, incarnation)
}

func proofBy(secret, challenge []byte, id, incarnation string) []byte {
	mac := hmac.New(sha256.New, secret)
	for _, part := range [][]byte{[]byte(secretUse), challenge, []byte(id), []byte(incarnation)} {
		fmt.Fprintf(mac, "%d:", len(part)) // Never fails (hash.Hash).
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// answerChallenge proves the secret to a peer.
func (s *secretProver) answerChallenge(_ context.Context, _ string, q *port.SecretCall) (*port.SecretReply, error) {
	if len(q.Challenge) != challengeSize {
		return nil, fmt.Errorf("cluster: a challenge has %d bytes, not %d", challengeSize, len(q.Challenge))
	}
	return &port.SecretReply{Proof: s.proveSecret(q.Challenge, s.id, s.incarnation)}, nil
}

// checkPeer makes the node at the other end of a link prove the secret.
func (s *secretProver) checkPeer(ctx context.Context, l *port.Link, id, incarnation string) error {
	challenge := make([]byte, challengeSize)
	rand.Read(challenge) // Never fails.
	r, err := port.Ask(ctx, l, &port.SecretCall{Challenge: challenge})
	if err != nil {
		return fmt.Errorf("cluster: node %q does not prove that it knows the cluster secret: %w", id, err)
	}
	proven := hmac.Equal(r.Proof, s.proveSecret(challenge, id, incarnation))
	for _, secret := range s.also {
		proven = proven || hmac.Equal(r.Proof, proofBy(secret, challenge, id, incarnation))
	}
	if !proven {
		return fmt.Errorf("cluster: node %q %w", id, errSecret)
	}
	return nil
}
