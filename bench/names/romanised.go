package names

import "strings"

// ownSource begins the source of the pairs below.
const ownSource = "own "

// expectedMatch labels a pair of two spellings of one name.
const expectedMatch = "match"

// romanisedSource holds pairs of public names in different romanisations and
// scripts, from general knowledge: kind, "=" for the same name or "/" for
// another, the name as a list writes it, the name as it is asked for.
const romanisedSource = `
pinyin|=|MAO, Zedong|Mao Tse-tung
pinyin|=|XI, Jinping|Hsi Chin-p'ing
pinyin|=|XI, Jinping|Xí Jìnpíng
pinyin|=|DENG, Xiaoping|Teng Hsiao-p'ing
pinyin|=|DENG, Xiaoping|Deng Xiao Ping
pinyin|=|ZHOU, Enlai|Chou En-lai
pinyin|=|ZHU, De|Chu Teh
pinyin|=|LIN, Biao|Lin Piao
pinyin|=|JIANG, Qing|Chiang Ch'ing
pinyin|=|HUA, Guofeng|Hua Kuo-feng
pinyin|=|CHIANG, Ching-kuo|Jiang Jingguo
pinyin|=|TSAI, Ing-wen|Cai Yingwen
pinyin|=|LEE, Teng-hui|Li Denghui
pinyin|=|SUN, Yat-sen|Sun Zhongshan
pinyin|=|LÜ, Xiulian|Lu Hsiu-lien
pinyin|/|ZHANG, Wei|Wang Wei
pinyin|/|LI, Qiang|Li Peng
pinyin|/|CHEN, Yun|Chen Yi
pinyin|/|ZHANG, Zhijun|Zhang Zhidong
korean|=|KIM, Jong Un|Kim Jong-un
korean|=|KIM, Jong Un|Gim Jeongeun
korean|=|KIM, Jong Un|Kim Chŏng-ŭn
korean|=|KIM, Jong Il|Gim Jeong-il
korean|=|KIM, Yo Jong|Kim Yeo-jeong
korean|=|JANG, Song Thaek|Jang Seong-taek
korean|=|CHOE, Ryong Hae|Choi Ryong-hae
korean|=|PAK, Pong Ju|Park Bong-ju
korean|=|RI, Yong Ho|Ri Yong-ho
korean|=|RI, Yong Ho|Lee Yong-ho
korean|=|HYON, Song Wol|Hyeon Songwol
korean|=|PAEK, Nam Sun|Baek Nam-sun
korean|/|KIM, Jong Un|Kim Jong-nam
korean|/|PAK, Pong Ju|Park Ji-sung
korean|/|RI, Yong Ho|Ri Sol-ju
hangul|=|KIM, Jong Un|김정은
hangul|=|KIM, Jong Il|김 정일
hangul|=|PAK, Pong Ju|박봉주
hangul|=|CHOE, Ryong Hae|최룡해
hangul|/|KIM, Jong Un|박지성
han|=|MAO, Zedong|毛泽东
han|=|XI, Jinping|习近平
arabic|=|AL-RAWI, Ahmad|Ahmed Al-Raoui
arabic|=|AL-QADHAFI, Muammar|Moammar Gaddafi
arabic|=|AL-QADHAFI, Muammar|Mu'ammar el-Qaddafi
arabic|=|BIN LADIN, Usama|Osama bin Laden
arabic|=|AL-ZAWAHIRI, Ayman|Aiman az-Zawahiri
arabic|=|HUSAYN, Saddam|Saddam Hussein
arabic|=|AL-BAGHDADI, Abu Bakr|Abou Bakr el Baghdadi
arabic|=|NASRALLAH, Hasan|Hassan Nasrullah
arabic|=|SULEIMANI, Qasem|Ghassem Soleymani
arabic|=|AL-SHISHANI, Tarkhan|Tarkhan ash-Shishani
arabic|=|KHAMENEI, Ali|Ali Khamene'i
arabic|=|ABD AL-RAHMAN, Umar|Omar Abdelrahman
arabic|=|AL-ASSAD, Bashar|بشار الأسد
arabic|/|HASAN, Ahmad|Husayn Ahmad
arabic|/|MAHMUD, Ali|Muhammad Ali
arabic|/|AL-MASRI, Abdallah|Abdallah Al-Mansuri
slavic|=|ZELENSKYY, Volodymyr|Wolodymyr Selenskyj
slavic|=|PUTIN, Vladimir Vladimirovich|Wladimir Putin
slavic|=|LUKASHENKA, Alyaksandr|Alexander Lukaschenko
slavic|=|YANUKOVYCH, Viktor|Wiktor Janukowytsch
slavic|=|PRIGOZHIN, Yevgeniy|Jewgeni Prigoschin
slavic|=|SHOIGU, Sergei|Sergej Schoigu
slavic|/|IVANOV, Sergei|Sergei Ivanenko
`

func romanisedPairs() []Pair {
	var pairs []Pair
	for line := range strings.Lines(romanisedSource) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		if len(fields) != 4 {
			continue
		}
		expected := "no_match"
		if fields[1] == "=" {
			expected = expectedMatch
		}
		pairs = append(pairs, Pair{Source: ownSource + fields[0], Schema: "Person", Query: fields[3], Target: fields[2], Expected: expected})
	}
	return pairs
}
