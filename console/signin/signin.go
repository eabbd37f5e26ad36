package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/time/rate"

	"railguard/seal"
)

const (
	cookieName = "railguard-signin"
	hostPrefix = "__Host-"        // As for the cookie of a session.
	cookieMax  = 1024             // The longest cookie that is read, in characters.
	flowLength = 10 * time.Minute // How long a person may take at the provider.
	flowSpread = 2 * time.Minute  // The most that the clocks of nodes may differ.
	codeMax    = 4096             // The longest code of a provider, in characters.

	// Who knows the address of the sign-in makes this node ask the provider: so often a second
	// at most, and so many at once.
	exchangesASecond = 20
	exchangesAtOnce  = 40
)

// Why says why nobody was signed in. The pages know its words.
type Why string

// The reasons.
const (
	WhyState    Why = "state"         // The answer belongs to no sign-in that this browser began, or to another tab's.
	WhyLate     Why = "late"          // The person took too long.
	WhyRefused  Why = "refused"       // The provider did not sign the person in.
	WhyCode     Why = "code"          // The provider does not take the code: it was used, or is another's.
	WhyProvider Why = "provider_down" // The provider does not answer, or not as it should.
	WhyToken    Why = "token"         // The provider's statement is not one that can be believed.
	WhyRoles    Why = "no_role"       // No group of the person has a role here.
	WhyEnded    Why = "ended"         // Somebody ended the person here.
	WhyUsed     Why = "used"          // The sign-in was ended before.
	WhyFull     Why = "full"          // There is no room for another person.
	WhyBusy     Why = "busy"          // This node cannot sign in now.
)

// Error is why a person was not let in.
type Error struct {
	Why   Why
	Cause error // For the log alone.
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Why, e.Cause) }
func (e *Error) Unwrap() error { return e.Cause }

func fail(why Why, cause error) error { return &Error{why, cause} }

// Person is somebody whom the provider named.
type Person struct {
	Issuer  string
	Subject string // The provider's own name for the person, which never changes.
	Name    string // What people call the person.
	Roles   []string
	Flow    [32]byte // Names this sign-in: it is good once.
}

// Config is what signing in needs.
type Config struct {
	Issuer       string
	ClientID     string
	ClientSecret string        // "": the provider asks for none.
	Redirect     func() string // The address to which the provider sends the person back; "": not known yet.
	GroupsClaim  string
	NameClaim    string
	Roles        map[string][]string // By group.
	Secrets      *seal.Secrets       // Seals what a sign-in begins with; the same on all nodes.
	Logger       *slog.Logger

	// Enter lets a person in, and returns the secret that the person's session holds. It fails with
	// an *Error.
	Enter func(ctx context.Context, person *Person) (secret string, err error)

	Transport http.RoundTripper // nil: http.DefaultTransport.
	Now       func() time.Time  // nil: time.Now.
}

// Door signs persons in. It is safe for concurrent use.
type Door struct {
	config    Config
	provider  *provider
	exchanges *rate.Limiter
	told      *rate.Limiter // Lines of the log.
}

// New checks the configuration. It asks nobody: a provider that is down must not keep a node from
// serving.
func New(config Config) (*Door, error) {
	if config.Secrets == nil || config.Enter == nil || config.Redirect == nil {
		return nil, errors.New("signin: secrets, enter and redirect are required")
	}
	if err := checkIssuer(config.Issuer); err != nil {
		return nil, err
	}
	if config.ClientID == "" || len(config.Roles) == 0 {
		return nil, errors.New("a client id and the role of at least one group are required")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return &Door{config: config, provider: newProvider(&config), exchanges: rate.NewLimiter(exchangesASecond, exchangesAtOnce), told: rate.NewLimiter(1, exchangesAtOnce)}, nil
}

// Log tells why nobody was let in. Of strangers' attempts only those of a second are told.
func (d *Door) Log(failed *Error) {
	if d.told.Allow() {
		d.config.Logger.Warn("nobody was signed in", "why", string(failed.Why), "error", failed.Cause)
	}
}

// checkIssuer refuses an issuer that anybody on the way could speak for.
func checkIssuer(issuer string) error {
	address, err := url.Parse(issuer)
	if err != nil || address.Host == "" || address.RawQuery != "" || address.Fragment != "" || address.User != nil {
		return fmt.Errorf("the issuer %q is not the address of a provider", issuer)
	}
	host := address.Hostname()
	local := host == "localhost" || host == "127.0.0.1" || host == "::1"
	if address.Scheme != "https" && (address.Scheme != "http" || !local) {
		return fmt.Errorf("the issuer %q must be an https address", issuer)
	}
	return nil
}

// flow is what a sign-in begins with. It is sealed in a cookie of the browser that began it.
type flow struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"` // Of PKCE (RFC 7636).
	Born     int64  `json:"born"`     // Unix seconds.
}

func draw() string {
	var random [24]byte
	_, _ = rand.Read(random[:]) // Never fails (crypto/rand).
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// Begin sends a person to the provider. It returns why it cannot.
func (d *Door) Begin(w http.ResponseWriter, r *http.Request, secure bool) error {
	p, err := d.provider.describe(r.Context())
	if err != nil {
		return err
	}
	redirect := d.config.Redirect()
	if redirect == "" {
		return fail(WhyBusy, errors.New("the cluster has no public address yet"))
	}
	f := flow{State: draw(), Nonce: draw(), Verifier: oauth2.GenerateVerifier(), Born: d.config.Now().Unix()}
	plain, err := json.Marshal(f)
	if err != nil {
		return fail(WhyBusy, err)
	}
	sealed, err := d.config.Secrets.Seal(seal.LabelSignIn, plain)
	if err != nil {
		return fail(WhyBusy, err)
	}
	http.SetCookie(w, newCookie(secure, base64.RawURLEncoding.EncodeToString(sealed), int(flowLength/time.Second)))
	to := d.client(p, redirect).AuthCodeURL(f.State, oauth2.SetAuthURLParam("nonce", f.Nonce), oauth2.S256ChallengeOption(f.Verifier))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// newCookie returns the cookie of a sign-in. It is sent with the provider's redirect, which is of
// another site, so it cannot be strict; it is worth nothing without the provider's answer.
func newCookie(secure bool, value string, seconds int) *http.Cookie {
	name := cookieName
	if secure {
		name = hostPrefix + cookieName
	}
	return &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure, MaxAge: seconds}
}

func (d *Door) client(p *description, redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: d.config.ClientID, ClientSecret: d.config.ClientSecret, Endpoint: p.endpoint, RedirectURL: redirect,
		Scopes: p.scopes,
	}
}

// Finish takes the person whom the provider sent back, and returns the secret of the person's
// session. The cookie of the sign-in goes in any case: a second answer to it is nobody's.
func (d *Door) Finish(w http.ResponseWriter, r *http.Request, secure bool) (secret string, err error) {
	f, err := d.openFlow(r, secure)
	http.SetCookie(w, newCookie(secure, "", -1))
	if err != nil {
		return "", err
	}
	code, err := d.readAnswer(r, f)
	if err != nil {
		return "", err
	}
	if !d.exchanges.Allow() {
		return "", fail(WhyBusy, errors.New("too many sign-ins at once"))
	}
	person, err := d.askProvider(r.Context(), f, code)
	if err != nil {
		return "", err
	}
	return d.config.Enter(r.Context(), person)
}

// openFlow reads the cookie of the sign-in.
func (d *Door) openFlow(r *http.Request, secure bool) (*flow, error) {
	cookies := r.CookiesNamed(newCookie(secure, "", 0).Name)
	if len(cookies) != 1 || len(cookies[0].Value) > cookieMax {
		return nil, fail(WhyState, errors.New("this browser began no sign-in"))
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookies[0].Value)
	if err != nil {
		return nil, fail(WhyState, err)
	}
	plain, err := d.config.Secrets.Open(seal.LabelSignIn, sealed)
	if err != nil {
		return nil, fail(WhyState, err)
	}
	f := new(flow)
	if err := json.Unmarshal(plain, f); err != nil || f.State == "" || f.Nonce == "" || f.Verifier == "" {
		return nil, fail(WhyState, errors.New("the cookie holds no sign-in"))
	}
	age := d.config.Now().Sub(time.Unix(f.Born, 0))
	if age > flowLength || age < -flowSpread {
		return nil, fail(WhyLate, fmt.Errorf("begun %v ago", age))
	}
	return f, nil
}

// readAnswer reads the provider's answer from the query, and returns its code.
func (d *Door) readAnswer(r *http.Request, f *flow) (code string, err error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return "", fail(WhyState, err)
	}
	for name, values := range query {
		if len(values) != 1 {
			return "", fail(WhyState, fmt.Errorf("%q stands more than once", name))
		}
	}
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(f.State)) != 1 {
		return "", fail(WhyState, errors.New("the state is another one's"))
	}
	if issuer := query.Get("iss"); query.Has("iss") && issuer != d.config.Issuer { // RFC 9207.
		return "", fail(WhyToken, fmt.Errorf("the answer is of the issuer %q", issuer))
	}
	if query.Has("error") {
		return "", fail(WhyRefused, errors.New(strings.ToValidUTF8(query.Get("error"), "")))
	}
	code = query.Get("code")
	if code == "" || len(code) > codeMax {
		return "", fail(WhyState, errors.New("the answer has no code"))
	}
	return code, nil
}

// askProvider exchanges a code for the provider's statement of who the person is.
func (d *Door) askProvider(ctx context.Context, f *flow, code string) (*Person, error) {
	p, err := d.provider.describe(ctx)
	if err != nil {
		return nil, err
	}
	token, err := d.provider.exchange(ctx, d.client(p, d.config.Redirect()), code, f.Verifier)
	if err != nil {
		return nil, err
	}
	person, err := d.provider.readToken(ctx, p, token, f.Nonce)
	if err != nil {
		return nil, err
	}
	person.Flow = sha256.Sum256([]byte(f.State))
	return person, nil
}
