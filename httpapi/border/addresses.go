package border

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
)

// AddressForm is how the log shows the addresses of refused callers.
type AddressForm uint8

const (
	// HashedAddresses shows a keyed hash: one caller has one word on every node, and only who has
	// the cluster secret can tell whose it is. It is the default, because an address is personal
	// data, a log is read by many and kept long, and to see one caller among many needs no more.
	HashedAddresses AddressForm = iota
	WholeAddresses
	NoAddresses
)

// addressForms are the words of the settings.
var addressForms = map[string]AddressForm{"hashed": HashedAddresses, "whole": WholeAddresses, "none": NoAddresses}

// ParseAddressForm reads a form's word.
func ParseAddressForm(word string) (AddressForm, error) {
	form, known := addressForms[word]
	if !known {
		return 0, fmt.Errorf("must be hashed, whole or none")
	}
	return form, nil
}

// shown returns an address in this form.
func (f AddressForm) shown(address netip.Addr, key []byte) string {
	if f == WholeAddresses || !address.IsValid() {
		return address.String()
	}
	mac := hmac.New(sha256.New, key)
	text, _ := address.MarshalBinary() // It never fails.
	mac.Write(text)
	return "h:" + hex.EncodeToString(mac.Sum(nil)[:8])
}
