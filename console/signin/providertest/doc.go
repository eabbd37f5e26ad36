// Package providertest is an OpenID provider for tests: it signs in whoever the test says, turns its
// keys over, and can be made to say what no provider may say.
//
// Purpose: sign-ins against a provider whose every word a test chooses.
//
// May import: the standard library.
// Never: be part of the product.
package providertest
