package families

import "strings"

// kanaSigns write a name in Katakana: a syllable each, and a vowel u where a consonant stands
// alone.
var kanaSigns = signs{
	{"kha", "ハ"}, {"khi", "ヒ"}, {"khu", "フ"}, {"khe", "ヘ"}, {"kho", "ホ"}, {"kh", "フ"}, {"gha", "ガ"}, {"ghi", "ギ"}, {"ghu", "グ"}, {"ghe", "ゲ"}, {"gho", "ゴ"}, {"gh", "グ"}, {"dh", "ド"}, {"tha", "サ"}, {"thi", "シ"}, {"the", "セ"}, {"tho", "ソ"}, {"thu", "ス"}, {"th", "ス"}, {"zh", "ジ"}, {"ph", "フ"}, {"sch", "シュ"}, {"tch", "ッチ"}, {"dj", "ジ"}, {"ck", "ック"},
	{"ce", "セ"}, {"ci", "シ"}, {"cy", "シ"}, {"che", "チェ"}, {"she", "シェ"}, {"je", "ジェ"}, {"qu", "ク"}, {"vu", "ブ"}, {"yi", "イ"}, {"ye", "イェ"}, {"wi", "ウィ"}, {"we", "ウェ"}, {"wo", "ウォ"}, {"wu", "ウ"}, {"tsu", "ツ"}, {"ts", "ツ"}, {"mb", "ンブ"}, {"mp", "ンプ"},
	{"Q", "ッ"}, {" ", " "},
	{"sha", "シャ"}, {"shi", "シ"}, {"shu", "シュ"}, {"sho", "ショ"}, {"cha", "チャ"}, {"chi", "チ"}, {"chu", "チュ"}, {"cho", "チョ"}, {"ka", "カ"}, {"ki", "キ"}, {"ku", "ク"}, {"ke", "ケ"}, {"ko", "コ"}, {"ca", "カ"}, {"co", "コ"}, {"cu", "ク"}, {"ga", "ガ"}, {"gi", "ギ"}, {"gu", "グ"}, {"ge", "ゲ"}, {"go", "ゴ"},
	{"sa", "サ"}, {"si", "シ"}, {"su", "ス"}, {"se", "セ"}, {"so", "ソ"}, {"za", "ザ"}, {"zi", "ジ"}, {"zu", "ズ"}, {"ze", "ゼ"}, {"zo", "ゾ"}, {"ja", "ジャ"}, {"ji", "ジ"}, {"ju", "ジュ"}, {"jo", "ジョ"}, {"ta", "タ"}, {"ti", "ティ"}, {"tu", "トゥ"}, {"te", "テ"}, {"to", "ト"}, {"da", "ダ"}, {"di", "ディ"}, {"du", "ドゥ"}, {"de", "デ"}, {"do", "ド"},
	{"na", "ナ"}, {"ni", "ニ"}, {"nu", "ヌ"}, {"ne", "ネ"}, {"no", "ノ"}, {"ha", "ハ"}, {"hi", "ヒ"}, {"hu", "フ"}, {"he", "ヘ"}, {"ho", "ホ"}, {"ba", "バ"}, {"bi", "ビ"}, {"bu", "ブ"}, {"be", "ベ"}, {"bo", "ボ"}, {"pa", "パ"}, {"pi", "ピ"}, {"pu", "プ"}, {"pe", "ペ"}, {"po", "ポ"}, {"ma", "マ"}, {"mi", "ミ"}, {"mu", "ム"}, {"me", "メ"}, {"mo", "モ"},
	{"ya", "ヤ"}, {"yu", "ユ"}, {"yo", "ヨ"}, {"ra", "ラ"}, {"ri", "リ"}, {"ru", "ル"}, {"re", "レ"}, {"ro", "ロ"}, {"la", "ラ"}, {"li", "リ"}, {"lu", "ル"}, {"le", "レ"}, {"lo", "ロ"}, {"wa", "ワ"}, {"va", "バ"}, {"vi", "ビ"}, {"vo", "ボ"}, {"ve", "ベ"}, {"fa", "ファ"}, {"fi", "フィ"}, {"fu", "フ"}, {"fe", "フェ"}, {"fo", "フォ"},
	{"sh", "シュ"}, {"ch", "チ"}, {"k", "ク"}, {"c", "ク"}, {"q", "ク"}, {"g", "グ"}, {"s", "ス"}, {"z", "ズ"}, {"j", "ジ"}, {"t", "ト"}, {"d", "ド"}, {"n", "ン"}, {"m", "ム"}, {"b", "ブ"}, {"p", "プ"}, {"r", "ル"}, {"l", "ル"}, {"f", "フ"}, {"v", "ブ"}, {"x", "クス"}, {"h", ""}, {"y", "イ"}, {"w", "ウ"}, {"a", "ア"}, {"i", "イ"}, {"u", "ウ"}, {"e", "エ"}, {"o", "オ"},
}

// doubledInKana prepares doubled consonants: some have a sign of their own before them, m and n are
// ン, and the others are single.
func doubledInKana(lower string) string {
	var b strings.Builder
	for i := range len(lower) {
		c := lower[i]
		switch doubled := i+1 < len(lower) && lower[i+1] == c; {
		case doubled && strings.IndexByte("bcdfgjkpqstz", c) >= 0:
			b.WriteByte('Q')
		case doubled && (c == 'm' || c == 'n'):
			b.WriteByte('n')
		case doubled && strings.IndexByte("aeiou", c) < 0:
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// inKana writes the name in Katakana with the dot that parts foreign names.
func inKana(d *draft) bool {
	if !d.writeIn(func(w *word) string { return kanaSigns.write(doubledInKana(strings.ToLower(w.text))) }) {
		return false
	}
	d.line = strings.ReplaceAll(d.line, " ", "・")
	return true
}

// kanaNames returns ordinary names of peoples who write Latin, Cyrillic or Arabic letters, in
// Katakana.
func kanaNames(l *Listed) (names []string) {
	for i := range cultures {
		c := &cultures[i]
		if c.familyFirst {
			continue
		}
		for k, name := range c.cross() {
			kana := kanaSigns.write(doubledInKana(strings.ToLower(strings.ReplaceAll(name, "-", ""))))
			if k%7 == 0 && kana != "" && !l.Equals(name) {
				names = append(names, strings.ReplaceAll(kana, " ", "・"))
			}
		}
	}
	return names
}
