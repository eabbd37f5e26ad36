package match

import (
	"crypto/sha256"
	"encoding/binary"
)

// Two programs may have one number of the matcher and judge differently: one was built from other
// sources, with another table of folded letters, or on a machine that computes wrong. So a list's
// tables answer sample questions once they are made, and nodes compare the digests of the answers.

const (
	sampledNames = 128 // Names of the list, spread evenly.
	sampledBytes = 8
)

// sampleQuestions are asked of every list: common names, scripts, disguises, and nobody.
var sampleQuestions = []string{
	"Maria Garcia Lopez", "MOHAMMED ALI HASSAN", "Иванов Сергей Петрович", "محمد علي حسن", "王伟", "김정일", "田中太郎", "Γεώργιος Παπαδόπουλος",
	"Jean-Luc d'Arc", "Müller & Söhne GmbH", "BANK OF NOWHERE", "Banque Extérieure", "L4Z4RUS GR0UP", "p a p e r", "Acme Trading Co., Ltd.", "Ó Briain",
	"Abu Muhammad al-Adnani", "SERGEI IVANOV", "De la Cruz", "zzzz",
}

// SampleDigest returns the first bytes of SHA-256 over what the list's tables answer to the sample
// questions. It is the same wherever the same matcher judges by the same list.
func (x *Index) SampleDigest() uint64 { return x.sample }

// answerSamples asks the questions.
func (x *Index) answerSamples() uint64 {
	hash, scratch := sha256.New(), NewScratch()
	var row []byte
	ask := func(name string) {
		result := x.Screen(&Query{Name: name, NonSDNPossible: true}, scratch)
		row = append(row[:0], byte(result.Outcome), byte(len(result.Matches)))
		for i := range result.Matches {
			m := &result.Matches[i]
			row = binary.BigEndian.AppendUint32(row, m.UID)
			row = binary.BigEndian.AppendUint32(row, uint32(m.Score))
			row = binary.BigEndian.AppendUint32(row, uint32(m.Strict))
			row = append(row, byte(m.Outcome))
		}
		hash.Write(row)
	}
	for _, name := range sampleQuestions {
		ask(name)
	}
	names := x.Counts().Names
	for i := range min(names, sampledNames) {
		name := []rune(x.TextAt(x.NameAt(uint32(i * names / min(names, sampledNames))).Full))
		ask(string(name))
		if len(name) > 4 {
			at := len(name) / 2
			name[at], name[at-1] = name[at-1], name[at]
			ask(string(name))
			ask(string(append(name[:at], name[at+1:]...)))
		}
	}
	return binary.BigEndian.Uint64(hash.Sum(nil)[:sampledBytes])
}
