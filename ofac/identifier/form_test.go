package identifier

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Spellings of one identifier have one form, and a text is sound if its length, signs and check
// digits are those of its class.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		class      Class
		text, form string
		sound      bool
		country    string
	}{
		{BIC, "SABRRUMM", "SABRRUMM", true, "RU"},
		{BIC, " sabr-ru-mm xxx", "SABRRUMM", true, "RU"},
		{BIC, "SABRRUMMAXXX", "SABRRUMM", true, "RU"},
		{BIC, "SABRRUMM012", "SABRRUMM012", true, "RU"},
		{BIC, "ЅАВRRUMM", "SABRRUMM", true, "RU"},
		{BIC, "SABR", "SABR", false, ""},
		{BIC, "SABR12MM", "SABR12MM", false, ""},
		{IBAN, "DE89 3704 0044 0532 0130 00", "DE89370400440532013000", true, "DE"},
		{IBAN, "iban: de89-3704-0044-0532-0130-00", "DE89370400440532013000", true, "DE"},
		{IBAN, "DE88370400440532013000", "DE88370400440532013000", false, ""},
		{IBAN, "NO9386011117947", "NO9386011117947", true, "NO"},
		{LEI, "5493001KJTIIGC8Y1R12", "5493001KJTIIGC8Y1R12", true, ""},
		{LEI, "5493001KJTIIGC8Y1R13", "5493001KJTIIGC8Y1R13", false, ""},
		{IMO, "IMO 9327413", "9327413", true, ""},
		{IMO, "imo no. 9327413", "9327413", true, ""},
		{IMO, "6166689", "6166689", true, ""},
		{IMO, "9327414", "9327414", false, ""},
		{MMSI, "MMSI 626393000", "626393000", true, ""},
		{MMSI, "62639300", "62639300", false, ""},
		{DUNS, "53-400-4252", "534004252", true, ""},
		{AircraftTail, "RA-86539", "RA86539", true, ""},
		{Passport, "L 065947", "L065947", true, ""},
		{Passport, "٠٠١٢ ۳４", "001234", true, ""},
		{TaxID, "95-4227517", "954227517", true, ""},
		{TaxID, "--", "", false, ""},
		{Email, "Info@GenBank.RU", "info@genbank.ru", true, "RU"},
		{Email, "Gen Bank <mailto:info+pay@genbank.ru>", "info+pay@genbank.ru", true, "RU"},
		{Email, "info@почта.рф", "info@xn--80a1acny.xn--p1ai", true, "RU"},
		{Email, "info", "@info", false, ""},
		{Email, "a@b@example.org", "a@b@example.org", false, ""},
		{Website, "https://www.Sberbank.ru:443/en/?a=b#c", "sberbank.ru", true, "RU"},
		{Website, "https:/keremetbank.kg", "keremetbank.kg", true, "KG"},
		{Website, "user:pw@www.bbc.co.uk.", "bbc.co.uk", true, "GB"},
		{Website, "сбербанк.рф", "xn--80abap1arsf.xn--p1ai", true, "RU"},
		{Website, "sberbank[.]ru", "sberbank.ru", true, "RU"},
		{Website, "www.com", "www.com", true, ""},
		{Website, "localhost", "localhost", false, ""},
		{Phone, "+98 21 8852-6301", "982188526301", true, "IR"},
		{Phone, "0098 (21) 88526301", "982188526301", true, "IR"},
		{Phone, "+44 (0)20 7946 0000 ext. 12", "442079460000", true, "GB"},
		{Phone, "+7 701 123 45 67", "77011234567", true, "KZ"},
		{Phone, "+7 495 123 45 67", "74951234567", true, "RU"},
		{Phone, "+1 212 555 0100", "12125550100", true, ""},
		{Phone, "call me", "", false, ""},
	} {
		require.Equal(t, c.form, string(AppendForm(nil, c.class, c.text)), "%s %q", c.class, c.text)
		require.Equal(t, c.sound, IsSound(c.class, c.text), "%s %q", c.class, c.text)
		country, ok := CountryOf(c.class, c.text)
		require.Equal(t, c.country, country, "%s %q", c.class, c.text)
		require.Equal(t, c.country != "", ok)
	}
}

// A form is not made anew by reading it once more, and reading never allocates for texts in ASCII.
func FuzzForm(f *testing.F) {
	for class := range classEnd {
		f.Add(uint8(class), "IMO 9327413")
		f.Add(uint8(class), "https://user@www.Example.co.uk:80/Path/x?y")
		f.Add(uint8(class), "Name <Some.Body+tag@gmail.com>")
		f.Add(uint8(class), "+44 (0)20 ٠٠１ x 12")
	}
	f.Fuzz(func(t *testing.T, number uint8, text string) {
		class := Class(number) % classEnd
		if len(text) > 256 {
			text = text[:256]
		}
		form := AppendForm(nil, class, text)
		IsSound(class, text)
		AppendSegment(nil, text)
		if country, ok := CountryOf(class, text); ok != (len(country) == 2) {
			t.Fatalf("%s %q: country %q", class, text, country)
		}
		if IsSound(class, text) {
			if again := AppendForm(nil, class, string(form)); class != BIC && class != Phone && class != Website && class != Email && string(again) != string(form) {
				t.Fatalf("%s %q: %q, then %q", class, text, form, again)
			}
		}
		if mailbox, ok := Mailbox(append([]byte(nil), form...)); ok && len(mailbox) >= len(form) {
			t.Fatalf("%q: %q", form, mailbox)
		}
		WithoutZeros(form)
		domains := 0
		for _, at, ok := NextDomain(form, len(form)); ok; _, at, ok = NextDomain(form, at) {
			if domains++; domains > hostLabelsMax {
				t.Fatalf("%q has %d domains", form, domains)
			}
		}
	})
}

func TestReadingAllocatesNothing(t *testing.T) {
	texts := [classEnd]string{"A 12", "SABRRUMMXXX", "DE89 3704 0044 0532 0130 00", "5493001KJTIIGC8Y1R12", "95-4227517", "1", "2", "L 065947", "IMO 9327413",
		"626393000", "RA-86539", "Info+x@GenBank.RU", "https://pay.shop.Sberbank.co.uk/a/b", "+98 21 8852 6301", "53-400-4252", "12"}
	var room [FormBytesMax]byte
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for class, text := range texts {
			form := AppendForm(room[:0], Class(class), text)
			IsSound(Class(class), text)
			CountryOf(Class(class), text)
			if Class(class) == Website {
				for _, at, ok := NextDomain(form, len(form)); ok; _, at, ok = NextDomain(form, at) {
				}
			}
		}
	}))
}

// A host belongs to its own domain and to those above it, the shortest first.
func TestDomainsOfAHost(t *testing.T) {
	for host, want := range map[string][]string{
		"":                        nil,
		"localhost":               {"localhost"},
		"bank.ru":                 {"bank.ru"},
		"a.b.bank.ru":             {"bank.ru", "b.bank.ru", "a.b.bank.ru"},
		"9.8.7.6.5.4.3.2.1.x.com": {"x.com", "1.x.com", "2.1.x.com", "3.2.1.x.com", "4.3.2.1.x.com", "5.4.3.2.1.x.com", "6.5.4.3.2.1.x.com", "9.8.7.6.5.4.3.2.1.x.com"},
	} {
		var got []string
		for domain, at, ok := NextDomain([]byte(host), len(host)); ok; domain, at, ok = NextDomain([]byte(host), at) {
			got = append(got, string(domain))
		}
		require.Equal(t, want, got, host)
	}
	for host, want := range map[string]string{"a.b.bank.co.uk": "bank.co.uk", "shop.wixsite.com": "shop.wixsite.com", "co.uk": "", "wixsite.com": ""} {
		domain, _ := RegisteredDomain(host)
		require.Equal(t, want, domain, host)
	}
}

// An address without its tag is the same mailbox, and the segment of a path tells who it is on a host
// that many share.
func TestMailboxAndSegment(t *testing.T) {
	for text, want := range map[string]string{
		"Some.Body+tag@Gmail.com": "somebody@gmail.com", "some.body@googlemail.com": "somebody@gmail.com", "a.b+c@example.org": "a.b@example.org",
		"a.b@example.org": "", "+c@example.org": "",
	} {
		mailbox, ok := Mailbox(AppendForm(nil, Email, text))
		require.Equal(t, want != "", ok, text)
		if ok {
			require.Equal(t, want, string(mailbox))
		}
	}
	for text, want := range map[string]string{
		"https://www.facebook.com/PorticelloMalta/posts?x=1": "porticellomalta", "sharif.edu/jalili": "jalili", "https://bank.ru/en/": "",
		"bank.ru/index.html": "", "bank.ru": "", "bank.ru/about/us": "",
	} {
		require.Equal(t, want, string(AppendSegment(nil, text)), text)
	}
}
