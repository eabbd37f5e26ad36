package clients

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

// spliced are pieces of JSON, and what is nearly JSON.
var spliced = []string{
	"{", "}", "[", "]", ",", ":", `"`, `\`, " ", "\n", "\t", "\r", "\v", "\u00a0", "\ufeff", "0", "1", "-", "-0", ".5", "1.0", "1e2", "E+", "00", "0x1", "NaN", "Infinity", "null", "true", "nul", "é", "\x00", "\x1f", "\x7f", "\x80", "\xff",
	"\u2028", `\u0061`, `\u00e`, `\ud83d\ude00`, `\udc00`, `\/`, `\x`, `'`, "//", "/**/", `"exp":1,`, `"iss":"x",`, `"__proto__":{},`, `"constructor":1,`, `"__proto__":1,"__proto__":2,`, `"":0,`, `"a":{"b":1,"b":2},`, `"\u0065xp":1,`, "[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]",
	`"pay":{},`, `"lists":{"age":0,"maxAge":0},`, `"EXP":1,`, `"x":1e999,`, `"x":123456789012345678901234567890,`, `"x":-1.5e-3,`,
}

// spoilText changes a few places of a text: it puts pieces in, takes characters out, or writes them
// twice.
func spoilText(draw *rand.Rand, text string) string {
	for range 1 + draw.IntN(2) {
		at := draw.IntN(len(text))
		if draw.IntN(2) == 0 { // Where members begin, a piece may leave it JSON.
			if brace := strings.IndexAny(text[at:], "{,"); brace >= 0 {
				at += brace + 1
			}
		}
		end := min(at+draw.IntN(4), len(text))
		switch draw.IntN(4) {
		case 0:
			text = text[:at] + text[end:]
		case 1:
			text = text[:end] + text[at:]
		default:
			text = text[:at] + spliced[draw.IntN(len(spliced))] + text[at:]
		}
	}
	return text
}

// TestPermitsAgree: whatever stands in header and claims, the three clients say the same of it.
func TestPermitsAgree(t *testing.T) {
	maker := newPermitMaker(t)
	draw := rand.New(rand.NewPCG(26, 11))
	work := &permitJob{Keys: maker.book.Keys}
	var want []string
	seen := map[string]int{}
	for i := range 1500 {
		header, claims := permitHeader("pm-v1"), maker.claims(nil)
		if i%5 == 0 {
			header = spoilText(draw, header)
		} else {
			claims = spoilText(draw, claims)
		}
		one := permitCase{Name: header + " " + claims, Permit: maker.sign(maker.permit, header, claims)}
		one.fill(&maker.book.Standard)
		work.Cases = append(work.Cases, one)
		want = append(want, checkGo(t.Context(), &one, &work.Keys, nil))
		seen[want[i]]++
	}
	for _, reason := range []string{"txn_test", "malformed", "algorithm", "type", "key", "issuer", "payment", "list"} {
		require.Greater(t, seen[reason], 5, "%s: %v", reason, seen)
	}
	eachPermitLanguage(t, work, func(t *testing.T, got *permitReport) {
		for i := range want {
			require.Equal(t, want[i], got.Cases[i], "%q", work.Cases[i].Name)
		}
	})
}

// TestFirstUseOfMany: of many that show a permit at once, one is the first. A store that fails
// is no permission.
func TestFirstUseOfMany(t *testing.T) {
	maker := newPermitMaker(t)
	uses := client.NewFirstUses(0, func() time.Time { return time.Unix(permitsAt, 0) })
	check := &client.PermitCheck{Keys: &maker.book.Keys, Issuer: permitsIssuer, Audience: permitsAudience, Now: time.Unix(permitsAt, 0), Paying: payingGo(maker.mine), FirstUse: uses.First}
	permit := maker.sign(maker.permit, permitHeader("pm-v1"), maker.claims(nil))
	var group sync.WaitGroup
	var good, used atomic.Int64
	for range 50 {
		group.Go(func() {
			switch _, err := client.VerifyPermit(t.Context(), permit, check); {
			case err == nil:
				good.Add(1)
			case errors.Is(err, client.PermitUsed):
				used.Add(1)
			}
		})
	}
	group.Wait()
	require.Equal(t, "1 49", fmt.Sprint(good.Load(), " ", used.Load()))
	broken := errors.New("no store")
	check.FirstUse = func(_ context.Context, id string, until time.Time) (bool, error) {
		require.Equal(t, "txn_test", id)
		require.EqualValues(t, permitsAt+180, until.Unix())
		return true, broken
	}
	_, err := client.VerifyPermit(t.Context(), permit, check)
	require.ErrorIs(t, err, broken)
}
