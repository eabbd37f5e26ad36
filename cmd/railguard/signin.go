package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"railguard/console"
	"railguard/console/signin"
	"railguard/edge"
	"railguard/fsm/wire"
	"railguard/httpapi/operations"
	"railguard/seal"
)

// signInFlags say by which identity provider persons sign in to the console, and which roles its
// groups have.
type signInFlags struct {
	issuer, client, redirect string
	groups, name             string
	given                    []string
	admins                   bool
	roles                    map[string][]string // Read from given by checkFlags.
}

// signInSecretName is the variable that holds the client's secret at the identity provider.
const signInSecretName = "RAILGUARD_OIDC_CLIENT_SECRET"

func (f *signInFlags) defineFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.issuer, "oidc-issuer", "", "address of the identity provider by which persons sign in to the console (OpenID Connect, docs/people.md); the same on every node; empty: off")
	flags.StringVar(&f.client, "oidc-client-id", "", "this service's client id there (its secret: "+signInSecretName+")")
	flags.StringSliceVar(&f.given, "oidc-role", nil, "GROUP=ROLE+ROLE: the roles of a group of the provider; may be given for each group. Who is in no such group does not get in")
	flags.BoolVar(&f.admins, "oidc-admins", false, "a group may have the role admin")
	flags.StringVar(&f.groups, "oidc-groups-claim", "groups", "claim with a person's groups")
	flags.StringVar(&f.name, "oidc-name-claim", "email", "claim with what people call a person: it stands in records, and a key of that person's name is the same person's")
	flags.StringVar(&f.redirect, "oidc-redirect", "", "address to which the provider sends persons back (default: --public-url with /console/signin/oidc/callback)")
}

// checkFlags reads the roles of groups.
func (f *signInFlags) checkFlags() error {
	if f.issuer == "" {
		if f.client != "" || len(f.given) > 0 || f.redirect != "" || f.admins {
			return usageError("--oidc-…: there is no --oidc-issuer")
		}
		return nil
	}
	f.roles = map[string][]string{}
	for _, given := range f.given {
		at := strings.LastIndexByte(given, '=')
		if at <= 0 {
			return usageError("--oidc-role: %q is no GROUP=ROLE", given)
		}
		group, roles := given[:at], strings.Split(given[at+1:], "+")
		for _, role := range roles {
			switch bit := edge.ParseRole(role); {
			case bit == 0:
				return usageError("--oidc-role: %q is no role: %s", role, strings.Join(edge.RoleNames[:], ", "))
			case bit == wire.RoleAdmin && !f.admins:
				return usageError("--oidc-role: the group %q would have the role admin, which --oidc-admins must say too", group)
			}
		}
		if f.roles[group] != nil {
			return usageError("--oidc-role: the group %q stands twice", group)
		}
		f.roles[group] = roles
	}
	_, err := f.makeDoor(nil, seal.NewSecrets(make([]byte, secretPlaceholder)), func() string { return "" }, nil)
	return err
}

// secretPlaceholder is the length of a secret that seals nothing.
const secretPlaceholder = 32

// makeDoor makes the sign-in by the identity provider; nil: there is none.
func (f *signInFlags) makeDoor(enter func(context.Context, *signin.Person) (string, error), secrets *seal.Secrets, publicURL func() string, log *logs) (*signin.Door, error) {
	if f.issuer == "" {
		return nil, nil
	}
	secret, err := secretOf(signInSecretName)
	if err != nil {
		return nil, err
	}
	config := signin.Config{
		Issuer: f.issuer, ClientID: f.client, ClientSecret: secret, GroupsClaim: f.groups, NameClaim: f.name, Roles: f.roles, Secrets: secrets,
		Redirect: func() string {
			if public := strings.TrimRight(publicURL(), "/"); f.redirect == "" && public != "" {
				return public + console.CallbackPath
			}
			return f.redirect
		},
		Enter: enter,
	}
	if log != nil {
		config.Logger = log.Logger
	}
	if enter == nil { // Only the settings are checked.
		config.Enter = func(context.Context, *signin.Person) (string, error) {
			return "", errors.New("BUG: nobody enters here")
		}
	}
	door, err := signin.New(config)
	if err != nil {
		return nil, usageError("--oidc-issuer, --oidc-client-id, --oidc-role: %w", err)
	}
	return door, nil
}

// enterPerson lets a person in whom the identity provider named.
func (s *server) enterPerson(ctx context.Context, person *signin.Person) (string, error) {
	who := operations.Person{Issuer: person.Issuer, Subject: person.Subject, Name: person.Name, Flow: person.Flow}
	for _, role := range person.Roles {
		who.Roles |= edge.ParseRole(role)
	}
	secret, err := s.api.SignIn(ctx, who, console.LongestSession)
	why := signin.WhyBusy
	switch {
	case err == nil:
		return secret, nil
	case errors.Is(err, operations.ErrPersonEnded):
		why = signin.WhyEnded
	case errors.Is(err, operations.ErrSignInUsed):
		why = signin.WhyUsed
	case errors.Is(err, operations.ErrNoRoom):
		why = signin.WhyFull
	}
	return "", &signin.Error{Why: why, Cause: err}
}
