package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode/utf8"

	_ "github.com/longbridgeapp/opencc" // Its dictionaries are read from the module's folder.
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// A Han character that has a simplified form is folded to it, and so is a Japanese form that
// neither China nor Taiwan uses: 張 is 张, 澤 and 沢 are 泽. The pairs are Unihan's
// kSimplifiedVariant and the Japanese reform of 1946, as OpenCC's dictionaries have them. Only
// characters of everyday use are folded: those of GB 2312, Big5 with Hong Kong's supplement, and JIS X 0208.
var simplified = simplifiedForms()

// heaven is not folded: simplified names have it too (乾坤), read qian. Only where it means dry, and
// is read gan, China writes 干.
const heaven = '乾'

func simplifiedForms() map[rune]rune {
	forms := map[rune]rune{}
	for traditional, form := range dictionary("TSCharacters.txt") {
		if isEveryday(traditional) && form != traditional && form <= 0xFFFF && traditional != heaven {
			forms[traditional] = form
		}
	}
	for traditional, form := range dictionary("JPVariants.txt") {
		if isChinese(form) || !isEveryday(form) {
			continue // China writes this form for another character, or for this one.
		}
		if chinese, ok := forms[traditional]; ok {
			traditional = chinese
		}
		if traditional != form {
			forms[form] = traditional
		}
	}
	return forms
}

// dictionary reads a dictionary of OpenCC: a character, a tab, and its forms, the usual one first.
func dictionary(name string) map[rune]rune {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/longbridgeapp/opencc").Output()
	if err != nil {
		panic(fmt.Errorf("FATAL: where OpenCC is: %w", err))
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "dictionary", name))
	if err != nil {
		panic(fmt.Errorf("FATAL: a dictionary of OpenCC: %w", err))
	}
	forms := map[rune]rune{}
	for line := range strings.Lines(string(text)) {
		character, variants, _ := strings.Cut(strings.TrimSpace(line), "\t")
		form, _, _ := strings.Cut(variants, " ")
		if utf8.RuneCountInString(character) == 1 && utf8.RuneCountInString(form) == 1 {
			forms[[]rune(character)[0]] = []rune(form)[0]
		}
	}
	return forms
}

// isChinese reports whether GB 2312 or Big5 has a character.
func isChinese(r rune) bool {
	if _, err := simplifiedchinese.HZGB2312.NewEncoder().String(string(r)); err == nil {
		return true
	}
	bytes, err := traditionalchinese.Big5.NewEncoder().String(string(r))
	if err != nil || len(bytes) != 2 {
		return false
	}
	place := int(bytes[0])<<8 | int(bytes[1]) // The rest is Hong Kong's, which has Japanese forms too.
	return place >= 0xA440 && place <= 0xC67E || place >= 0xC940 && place <= 0xF9D5
}

// isEveryday reports whether a character set of everyday use has a Han character.
func isEveryday(r rune) bool {
	_, japan := japanese.EUCJP.NewEncoder().String(string(r))
	_, hongKong := traditionalchinese.Big5.NewEncoder().String(string(r))
	return r <= 0xFFFF && (isChinese(r) || japan == nil || hongKong == nil)
}
