package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

// stockCase is a permit for a library that knows none.
type stockCase struct {
	name     string
	good     bool
	Permit   string `json:"permit"`
	Issuer   string `json:"issuer"`
	Audience string `json:"audience"`
	Now      int64  `json:"now"`
	PayHash  string `json:"payHash"` // Of my own payment.
}

type stockJob struct {
	Keys   client.JWKS `json:"jwks"`
	Broken []string    `json:"broken"` // Keys that are none.
	Cases  []stockCase `json:"cases"`
}

// stockJobs are the permits on which libraries must agree with the clients: those of the book, and
// the published ones, if they are there.
func stockJobs(t *testing.T) map[string]*stockJob {
	job := func(keys client.JWKS, cases []permitCase) *stockJob {
		made := &stockJob{Keys: keys, Broken: []string{"pm-v3", "pm-v4"}}
		for i := range cases {
			one := &cases[i]
			if !one.Stock {
				continue
			}
			pay := one.Pay
			if pay == nil {
				built, err := payingGo(one.Paying).Statement("txn_test")
				require.NoError(t, err, one.Name)
				pay = built
			}
			made.Cases = append(made.Cases, stockCase{one.Name, one.Want == "good", one.Permit, one.Issuer, one.Audience, one.Now, client.PayHash(pay)})
		}
		return made
	}
	book := readPermits(t)
	jobs := map[string]*stockJob{"book": job(book.Keys, book.Cases)}
	require.Greater(t, len(jobs["book"].Cases), 30)
	t.Run("published", func(t *testing.T) {
		published, cases := sharedCases(t)
		jobs["published"] = job(published.JWKS, cases)
	})
	return jobs
}

func judgeStock(t *testing.T, work *stockJob, told []bool) {
	require.Len(t, told, len(work.Cases))
	for i := range work.Cases {
		require.Equal(t, work.Cases[i].good, told[i], work.Cases[i].name)
	}
}

// TestPermitsByOthers: libraries for JWTs, with the few lines that they leave to their caller,
// accept the good permits and refuse the bad ones. Go's always runs; the others run where they are
// installed.
func TestPermitsByOthers(t *testing.T) {
	jobs := stockJobs(t)
	for name, work := range jobs {
		t.Run("go-jose/"+name, func(t *testing.T) {
			var told []bool
			for i := range work.Cases {
				told = append(told, goJose(t, work, &work.Cases[i]))
			}
			judgeStock(t, work, told)
		})
		t.Run("jose/"+name, func(t *testing.T) {
			script, err := filepath.Abs("testdata/permits.mjs")
			require.NoError(t, err)
			node, module := presentModule(t, "jose")
			command := exec.Command(node, script)
			command.Env = []string{"SDK=" + module}
			var told []bool
			require.NoError(t, run(t.Context(), command, work, &told))
			judgeStock(t, work, told)
		})
		t.Run("PyJWT/"+name, func(t *testing.T) {
			script, err := filepath.Abs("testdata/permits.py")
			require.NoError(t, err)
			var told []bool
			require.NoError(t, run(t.Context(), exec.Command(pythonWith(t, "jwt.api_jwt, cryptography"), "-B", script), work, &told))
			judgeStock(t, work, told)
		})
	}
}

var permitKey = regexp.MustCompile(`^(sandbox-)?pm-v[0-9]+$`)

// goJose is the caller of go-jose. Its leeway would be good for exp too, so it has none.
func goJose(t *testing.T, work *stockJob, one *stockCase) bool {
	token, err := jwt.ParseSigned(one.Permit, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil || token.Headers[0].ExtraHeaders["typ"] != "railguard-permit+jwt" || !permitKey.MatchString(token.Headers[0].KeyID) {
		return false
	}
	var keys jose.JSONWebKeySet
	for _, key := range work.Keys.Keys {
		var read jose.JSONWebKey
		if json.Unmarshal(encode(t, key), &read) == nil {
			keys.Keys = append(keys.Keys, read)
		}
	}
	var c jwt.Claims
	var p struct { // go-jose matches names by case, so each needs its tag.
		Verdict string `json:"verdict"`
		PayHash string `json:"pay_hash"`
		Lists   struct {
			Age    int64 `json:"age"`
			MaxAge int64 `json:"maxAge"`
		} `json:"lists"`
	}
	if token.Claims(&keys, &c, &p) != nil {
		return false
	}
	now := time.Unix(one.Now, 0)
	if c.ValidateWithLeeway(jwt.Expected{Issuer: one.Issuer, AnyAudience: jwt.Audience{one.Audience}, Time: now}, 0) != nil {
		return false
	}
	return c.Expiry != nil && c.IssuedAt != nil && c.Expiry.Time().After(now) && *c.Expiry-*c.IssuedAt <= 300 &&
		p.Verdict == "PROCEED" && p.PayHash == one.PayHash && p.Lists.Age <= p.Lists.MaxAge
}

// presentModule returns the entry of an npm package that is installed: for all, or in the cache of
// these tests.
func presentModule(t *testing.T, name string) (node, module string) {
	missing := fmt.Sprintf("what npm's %s checks is NOT tested: ", name)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(missing + "node is not installed")
	}
	var folders []string
	if root, err := exec.Command("npm", "root", "-g").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(root)))
	}
	if cache, err := os.UserCacheDir(); err == nil {
		found, _ := filepath.Glob(filepath.Join(cache, "railguard-tests", name+"-*", "node_modules"))
		folders = append(folders, found...)
	}
	for _, folder := range folders {
		var told struct {
			Exports map[string]any `json:"exports"`
		}
		raw, err := os.ReadFile(filepath.Join(folder, name, "package.json"))
		if err != nil || json.Unmarshal(raw, &told) != nil {
			continue
		}
		entry, _ := told.Exports["."].(map[string]any)
		for _, kind := range []string{"import", "default"} {
			if file, ok := entry[kind].(string); ok {
				return node, filepath.Join(folder, name, filepath.FromSlash(file))
			}
		}
	}
	t.Skip(missing + "it is not installed")
	return "", ""
}

// pythonWith returns a Python that has the modules.
func pythonWith(t *testing.T, modules string) string {
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		python := filepath.Join(folder, "python3")
		if exec.Command(python, "-c", "import "+modules).Run() == nil {
			return python
		}
	}
	t.Skip("what Python's " + modules + " check is NOT tested: they are not installed")
	return ""
}
