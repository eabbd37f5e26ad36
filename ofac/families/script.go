package families

import (
	"strings"
	"unicode"
)

// Names of which the list has Latin alone are written in other scripts by sound, sign for sign,
// as a newspaper would that never saw the original. A table is tried from its first row to its
// last at each place, so longer signs stand first.

type signs [][2]string

// write writes a text in small letters by a table. It returns "" if a letter has no sign.
func (table signs) write(text string) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		size := 0
		for _, sign := range table {
			if strings.HasPrefix(text[at:], sign[0]) {
				b.WriteString(sign[1])
				size = len(sign[0])
				break
			}
		}
		if size == 0 {
			return ""
		}
		at += size
	}
	return b.String()
}

// cyrillicSigns write a name in Russian letters.
var cyrillicSigns = signs{
	{"shch", "щ"}, {"sch", "ш"}, {"kh", "х"}, {"zh", "ж"}, {"ch", "ч"}, {"sh", "ш"}, {"ts", "ц"}, {"ya", "я"}, {"yu", "ю"}, {"yo", "ё"}, {"ye", "е"}, {"iy", "ий"}, {"yy", "ый"}, {"ph", "ф"}, {"ck", "к"}, {"qu", "к"}, {"ou", "у"}, {"oo", "у"}, {"ee", "и"}, {"dj", "дж"},
	{"a", "а"}, {"b", "б"}, {"c", "к"}, {"d", "д"}, {"e", "е"}, {"f", "ф"}, {"g", "г"}, {"h", "х"}, {"i", "и"}, {"j", "дж"}, {"k", "к"}, {"l", "л"}, {"m", "м"}, {"n", "н"}, {"o", "о"}, {"p", "п"}, {"q", "к"}, {"r", "р"}, {"s", "с"}, {"t", "т"}, {"u", "у"}, {"v", "в"}, {"w", "в"}, {"x", "кс"}, {"y", "й"}, {"z", "з"}, {"-", "-"}, {"'", "ь"},
}

// vowelY is written as a vowel between consonants and at the end of a word.
func vowelY(lower string) string {
	bytes := []byte(lower)
	for i, c := range bytes {
		alone := i > 0 && strings.IndexByte("aeiou", bytes[i-1]) < 0 && (i+1 == len(bytes) || strings.IndexByte("aeiou", bytes[i+1]) < 0)
		if c == 'y' && alone {
			bytes[i] = 'i'
		}
	}
	return string(bytes)
}

// inCyrillic writes the name in Russian letters.
func inCyrillic(d *draft) bool {
	return d.writeIn(func(w *word) string {
		text := []rune(cyrillicSigns.write(vowelY(strings.ToLower(w.particle + w.text))))
		if len(text) == 0 {
			return ""
		}
		text[0] = unicode.ToUpper(text[0])
		return string(text)
	})
}

// writeIn writes word for word; a word that cannot be written leaves the family without the name.
func (d *draft) writeIn(write func(w *word) string) bool {
	var b strings.Builder
	for i := range d.words {
		text := write(&d.words[i])
		if text == "" {
			return false
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(text)
	}
	d.line = b.String()
	return len(d.words) > 1
}

// Han and Hangul write syllables. Each syllable has one sign here, the one that is frequent in
// names: whoever reads it aloud says the listed name.

var hanSyllables = syllableTable(`wang王 li李 zhang张 liu刘 chen陈 yang杨 huang黄 zhao赵 wu吴 zhou周 xu徐 sun孙 ma马 zhu朱 hu胡 guo郭 he何 gao高 lin林 luo罗 zheng郑 liang梁 xie谢 song宋 tang唐 han韩 feng冯 deng邓 cao曹 peng彭 zeng曾 xiao萧 tian田 dong董 pan潘 yuan袁 cai蔡 jiang江 yu于 du杜 ye叶 cheng程 wei伟 su苏 lu陆 ding丁 ren任 shen沈 yao姚 lai赖 zhong钟 tan谭 fan范 fang方 shi石 liao廖 zou邹 xiong熊 jin金 hao郝 kong孔 bai白 cui崔 kang康 mao毛 qiu邱 qin秦 gu顾 hou侯 shao邵 meng孟 long龙 wan万 duan段 qian钱 yin尹 chang常 yi易 wen文 ming明 hua华 guang光 guo国 jian建 jun军 ping平 qiang强 xin新 hong红 hai海 bo波 bin斌 lei磊 tao涛 chao超 yan岩 ying英 fei飞 kai凯 rong荣 sheng生 xing兴 qing庆 chun春 mei梅 lan兰 xia霞 min敏 jing静 na娜 ting婷 zhi志 da大 de德 zi子 an安 ji吉 jie杰 rui瑞 hui辉 xiang祥 gang刚 yong勇 bao宝 cong聪 dan丹 quan全 ze泽 zhen震 ning宁 you友 yun云 ya亚 shu书 si思 tong同 xue学
	bei北 bi碧 bing冰 bo博 cha察 chuang创 cui翠 du都 er尔 fu福 gan甘 gui桂 hang航 he和 hua华 huan环 jia佳 jiu久 ju巨 jue觉 jun俊 ke科 kun坤 lang朗 le乐 lian联 ling灵 lu鲁 lun伦 mai麦 mao茂 mi米 mu木 nan南 ni尼 nuo诺 ou欧 pei培 pu普 qi齐 qiao桥 qing青 qu渠 ran然 ru如 run润 sai赛 san三 sen森 sha沙 shan山 shang尚 shou寿 shui水 shun顺 sui穗 suo索 tai泰 te特 ti提 tie铁 tu图 wo沃 wu武 xi西 xian先 xiu秀 xuan轩 xun迅 yi益 yin银 yong永 yu宇 yuan源 yue悦 zhan展 zheng正 zhi智 zhou舟 zhuo卓 zhuang庄 zong宗 zu祖 zun尊`)

var hangulSyllables = syllableTable(`kim김 ri리 pak박 choe최 jong정 jo조 kang강 yun윤 jang장 rim림 han한 o오 so서 sin신 kwon권 hwang황 an안 song성 ryu류 hong홍 kil길 yong영 chol철 il일 jin진 su수 hyok혁 nam남 myong명 kyong경 hyon현 hak학 chun춘 sok석 ho호 kwang광 u우 un은 in인 hui희 hyong형 ung웅 chang창 jun준 pyong병 thae태 tae태 chon천 ryong룡 hwa화 ok옥 sun순 mun문 kun근 kuk국 ung웅 pong봉 won원 ryol렬 rae래 tok덕 pom범 sang상 sam삼 ju주 no노 paek백 ra라 sim심`)

func syllableTable(text string) map[string]string {
	table := map[string]string{}
	for field := range strings.FieldsSeq(text) {
		at := strings.IndexFunc(field, func(r rune) bool { return r >= 0x80 })
		table[field[:at]] = field[at:]
	}
	return table
}

// inSyllables writes the name with one sign for each syllable, the family name first and without
// blanks. Every syllable must have a sign.
func inSyllables(table map[string]string) step {
	return func(d *draft) bool {
		if len(d.words) < 2 || len(d.words) > 3 || !lastFirst(d) {
			return false
		}
		line := ""
		for i := range d.words {
			signs := spellSyllables(table, bare(d.words[i].written()))
			if signs == "" {
				return false
			}
			line += signs
		}
		d.line = line
		count := len([]rune(line))
		return count >= 2 && count <= 4
	}
}

// spellSyllables parts a word into syllables of the table, the longest first.
func spellSyllables(table map[string]string, lower string) string {
	if lower == "" {
		return ""
	}
	for size := min(len(lower), 6); size > 0; size-- {
		sign := table[lower[:size]]
		if sign == "" {
			continue
		}
		if size == len(lower) {
			return sign
		}
		if rest := spellSyllables(table, lower[size:]); rest != "" {
			return sign + rest
		}
	}
	return ""
}

// traditional are characters of names in their traditional and their simplified form.
const traditional = "張张劉刘陳陈楊杨黃黄趙赵吳吴孫孙馬马鄭郑謝谢韓韩馮冯鄧邓蕭萧葉叶蘇苏陸陆鍾钟譚谭鄒邹龍龙萬万錢钱國国華华軍军強强紅红濤涛飛飞凱凯榮荣興兴慶庆蘭兰靜静傑杰輝辉剛刚寶宝聰聪澤泽寧宁雲云亞亚書书學学東东電电業业銀银團团會会與与術术際际貿贸義义農农車车門门開开關关區区廣广廠厂資资產产機机運运輸输進进達达長长順顺實实聯联衛卫報报導导發发條条無无連连遠远陽阳雙双風风樂乐網网經经維维藥药視视豐丰總总製制設设計计財财礦矿鋼钢鐵铁島岛灣湾戰战爭争爾尔齊齐師师個个時时對对後后書书見见話话語语調调證证護护責责費费貨货質质購购賽赛轉转輪轮邊边選选還还鄉乡醫医釋释針针錄录鏡镜閃闪陰阴隊队難难靈灵頭头顏颜類类願愿顧顾體体魚鱼鮮鲜鳥鸟麗丽麥麦黨党龜龟"

// otherHan writes each character that has two forms in the other one, from traditional to
// simplified or back.
func otherHan(toSimplified bool) step {
	var pairs []string
	runes := []rune(traditional)
	for i := 0; i+1 < len(runes); i += 2 {
		if toSimplified {
			pairs = append(pairs, string(runes[i]), string(runes[i+1]))
		} else {
			pairs = append(pairs, string(runes[i+1]), string(runes[i]))
		}
	}
	change := strings.NewReplacer(pairs...)
	return rewrite(change.Replace)
}
