package text

import (
	"maps"
	"slices"
	"strings"
)

// respellings are words that are the same in different languages or romanisations, but
// whose letters differ too much for the spelling fold. Each line is one group; its first
// word stands for the group. Sources: the common romanisations of Slavic, Arabic, Persian,
// Turkic, Korean and Chinese names, and usual translations of company words.
const respellingSource = `
al el ul ol
bin ben ibn bint bn
abu abou abo aboo abi ebu
abdal abdul abdel abdol abdoul abdu abdil abdull cabdul
abdallah abdullah abdulla abdollah abdellah abdoulaye abdulah cabdullahi cabdulahi abdullahi cabdalla cabdallah
abdurrahman abdulrahman abdalrahman abdelrahman abdarrahman abdolrahman abdurahman abdirahman abdiraxman abdrahman abderrahman abderrahmane cabdiraxman cabdiraxmaan cabdirahman
abdulaziz abdalaziz abdelaziz abdolaziz cabdicasiis abdicasiis
abdulkarim abdalkarim abdelkarim abdolkarim cabdikariim abdikarim
abdulmalik abdelmalek abdalmalik abdolmalek
abdurrazzaq abdulrazzaq abdalrazzaq abdelrazak abderrazak
abdurrahim abdulrahim abdalrahim abdelrahim abdirahim abdrahim abderrahim abdolrahim cabdiraxiim
abdulhamid abdelhamid abdalhamid abdolhamid cabdixamiid
abdulmajid abdelmajid abdalmajid abdolmajid abdulmajeed
abdulhalim abdelhalim abdalhalim abdolhalim
abdulhakim abdelhakim abdalhakim abdolhakim
abdulqadir abdelkader abdalqadir abdulkadir abdelqader abdulqader abdolqader cabdiqaadir abdiqadir abdikadir cabdulqaadir
abdulghani abdelghani abdalghani abdolghani
abdulghaffar abdelghaffar abdalghaffar abdolghaffar
abdullatif abdellatif abdallatif abdollatif
abdulwahab abdelwahab abdalwahab abdolwahab
abdulwahid abdelwahid abdalwahid abdolvahed abdelouahed
abdulsalam abdelsalam abdalsalam abdussalam abdessalam abdolsalam
mohammad muhammad mohammed mohamed muhammed mohamad muhamad mohamet mehmet mehmed mahomed mohamud mohammod muhamed mukhammad magomed mahamat mahammad mamadou mohd maxamed maxamad
ahmad ahmed ahmet akhmed akhmad ahmadu achmad axmed axmad
mahmud mahmoud mahmood mehmood mahamud makhmud maxamuud maxamud
husayn hussein husain hossein hussain huseyin husein hosein houssein hocine khusein hoseyn huseyn xuseen xusen
hasan hassan hacene khasan hasen xasan
yusuf yousef youssef yousuf yusif yosef yusef joseph josef iosif jusuf yousif yusup yuusuf
ibrahim ebrahim ibraheem ibragim abraham brahim ibrahima avraam ibraahim ibraahiim
ismail esmail ismael esmaeil ismaeel ismayil esmaeel ismaiil ismaaciil ismaciil
omar umar omer oumar cumar
osama usama ousama oussama
othman uthman osman usman ousmane utman cusmaan cusman
said saeed saied sayeed saiid sayid syed sayyid seyed sayed seyyed saed saciid
khalid khaled halid xalid haled khaalid
sulayman suleiman soleiman suleyman sulaiman souleymane soliman sulejman suliman saleebaan saleban
qasim qasem kassem ghasem ghassem ghasim kasim qassem qassim kasem gasim kacem
qadhafi qaddafi gaddafi gadhafi gadafi kadhafi kaddafi khadafi kadafi
jamal gamal djamel jamaal dzhamal cemal
jafar gafar djafar jaafar gaafar jafer dzhafar cafer
mustafa mostafa moustafa mustapha mustafo
mahdi mehdi mahdy
musa moussa mousa moses musah muuse
isa issa eissa eisa ciise
yahya yehya yahia yehia yakhya
yaqub yaqoob yaqoub yakub yacoub yakoub jacob yagoub yacquub
ayyub ayub ayoub ayyoub ayob
sharif sherif shareef cherif sheriff shariif
tariq tarek tareq tarik
rashid rasheed rachid rashed
jawad javad djavad jawaad jaouad
walid waleed oualid
hamid hameed hamed xamiid
nasir naser nasser nasr nacer
zaynab zeinab zainab zaynep zeynep
fatima fatemeh fatimah fatma fatmeh
maryam mariam miriam meryem
amir ameer emir
anwar anouar enver
mansur mansour mansoor mansoer
masud massoud masood masoud mesud
faysal faisal feisal faycal
ghulam gholam golam qolam
nur noor nour nuur
rida reza riza ridha
mujahid mojahed mujaheed
mullah mulla molla mollah
haji hajji hadji hajj hadj haj alhaj alhaji xaaji
shaykh sheikh sheik shaikh cheikh shekh sheykh
aleksandr alexander oleksandr aliaksandr aleksander alexandre alexandr aljaksandr alaksandr alyaksandr aleksandar olexandr iskander
aleksandra alexandra oleksandra aliaksandra
aleksey alexei aleksei alexey oleksiy oleksii aliaksei alexis alyaksey aliaksey alexy aljaksej aleksej oleksij
sergey sergei serhiy siarhei serguei sergiy serge serhii syarhei siarhey sergej sergii
dmitry dmitriy dmitri dmytro dzmitry dmitrii dimitri dimitry dzmitryi dmitrij
yevgeny yevgen evgen jewgeni jewhen evgeny evgeniy yevgeniy yevgeni evgeni yevhen yauhen eugene evgenii evgenij yauheni yevheniy yevhenii eugen
yevgeniya evgeniya yevgenia evgenia yevheniya
vladimir volodymyr volodimir wolodymyr uladzimir wladimir vladymyr uladzimer
vladislav uladzislau vladyslav wladyslaw
mikhail mykhailo mikhael michail michael mihail mykhaylo mikhaylo mihails mikhal
nikolay nikolaus nikolai mykola mikalai nicolai mikola nikolaj nicholas nikolaos mikalay nicolas nikolas nicola nikola nicolaas nicolae
andrey andrei andriy andrej andrii andrew andreas andre
yuri yury yuriy iouri yurii youri jurij iurii iuri yuriiy yuryy
viktor victor wiktor viktar
vasily vasiliy vasyl vasili vasilii vasil vassily vasilij wasyl
vyacheslav wjatscheslaw viacheslav vjaceslav vyachaslau viachaslau viatcheslav
igor ihor ihar igar
oleg oleh aleh
pavel pavlo paval paul pawel
petr pyotr petro piotr peter pjotr
stepan stsiapan stefan steven stephen
grigory grigoriy hryhoriy ryhor grigori gregory hryhorii grigorii
gennady gennadiy henadz hennadiy gennadi gennadii henadzi hienadz
anatoly anatoliy anatol anatoli anatolii anatolij
valery valeriy valeri valeryi valerii valerij
georgy georgiy georgi heorhiy george giorgi georgii georgios
konstantin kanstantsin kostiantyn constantin kostyantyn
maksim maxim maksym
denis denys dzianis
ivan iwan yvan
ilya illya ilia ilja illia
artem artyom artiom artsiom
kirill kyrylo kiryl cyril
roman raman
ruslan rouslan
fedor fyodor feodor fiodar theodore fjodor
leonid leanid
lev leo leon
yelena elena olena alena helena yalena jelena
yekaterina ekaterina katsiaryna kateryna catherine katerina
tatyana tatiana tetiana tatsiana tetyana tatjana
natalya natalia nataliya natallia nataliia natalja
irina iryna irena
olga olha volha
anna hanna ganna
svetlana sviatlana svitlana
yulia julia yuliya iuliia yuliia yulija julija
galina halina halyna
lyudmila ludmila liudmyla liudmila lyudmyla ludmilla
lukashenko lukashenka
maria mariya mariia marya
juan joao
john jon johan johannes
ali alie aly
kim gim
lee yi rhee rhi
pak park bak
choe choi
jong jung jeong chong chung
chol cheol chul
yong young
hyon hyun
song sung seong
kyong kyung gyeong
myong myung myeong
hyok hyuk hyeok
il ihl
un eun
kuk guk kook
sok suk seok
kang gang
paek baek baik
rim lim
ryu yoo ryoo
cho jo joh
company kompaniya kompania kompaniia kampaniia
international internatsional mezhdunarodnaya mezhdunarodny mezhdunarodnyy mezhdunarodnoe intl internacional internazionale internationale
industry industries industrial industria industrias promyshlennost
technology technologies technological tech tekhnologicheskiy tekhnologiy tekhnologii tekhnologiya tecnologia tehnologii technologie tekhnolodzhi
institute institut institution instituto
engineering inzhiniringovyy inzhiniringovaya inzhenernyy inzhenernaya inzhenerno inzhiniring ingenieria engineers engg
trading trade trdg trdng torgovy torgovyy torgovlya torgovaya bazargani commerce
plant zavod factory works fabrika fabriki zavody
research issledovatelskoe scientific nauchno nauchnyy nauchnaya science sciences issledovatelsky issledovatelskiy issledovatelskaya
production proizvodstvennoe proizvodstvenny proizvodstvennaya
association assn assoc obedinenie obyedineniye asociacion assotsiatsiya
enterprise predpriyatie predpriyatiye enterprises empresa
bureau byuro buro
design konstruktorskoe konstruktorskoye
shipping shippng shpg parokhodstvo sudokhodnaya
petroleum oil neft
bank banka bankasi banco banque
service services servis servicios svc svcs
system systems sistemy sistemas sistema sistem
center centre tsentr centro centr ctr
group grupp gruppa grup groupe grupo gruppe grp
holding holdings kholding hldg hldgs
investment investments invest investitsii
development razvitie
limited limitd
transport transportation trans transports transportes transportnaya transportnyy
logistics logistik logistika logistic
energy enero energo energetika energetic
electronics electronic elektronika elektronik
petrochemical petrochemicals neftekhim petrochem
machinery machine mashinostroitelny machines
general generalny genl
national natl natsionalny natsionalnyy nacional natsionalnaya natsionalnogo natsionalna nationale
foundation fond fund fundacion fdn
organization organisation organizatsiya org
commercial kommercheskiy komercialny
chemical chemicals khimichesky khim
metallurgical metallurgy metals metal metall metally metallurgicheskiy metallurgicheskaya
university universitet universidad univ
federation federatsiya
federal federalnoe federalny federalnaya
state gosudarstvennoe gosudarstvenny gosudarstvennyy gosudarstvennaya gosudarstvennogo gos
unitary unitarnoe
brothers bros
saint sankt st sveti
petersburg peterburg
october oktyabr oktiabr
leasing lizing
district rayon raion
new novy novaya novoe novyy
shipbuilding sudostroitelny sudostroitelnyy sudostroitelnaya sudostroitelnoe sudostroenie sudostroeniya
aircraft aviation aviatsionny aviatsionnyy aviatsionnaya
military voenny voennaya voyenny
special spetsialny spetsialnaya
construction constr stroitelny stroitelnaya stroitelnoe stroy
mining gornaya gorny gornyy
repair remontny remontnyy
management mgmt upravlyayushchaya upravleniye
insurance strakhovaya strakhovoy
space kosmicheskiy kosmicheskaya kosmos
marine maritime morskoy morskoe morskaya morskoi
mechanical mekhanicheskiy mekhanichesky
electrical elektro electric elektricheskiy
charitable charity blagotvoritelny kheiriyeh khairiah
islamic islami islamiya islamiyya islamiyah
us usa unitedstates
united obyedinennaya obedinennaya obyedinennyy obedinennyy unidos unida
savings sberegatelnyy sberegatelny
joint sovmestnoe sovmestny sovmestnyy
technical tekhnicheskiy tekhnicheskaya tekhnicheskoe tekhnicheski tecnica
republic respublika respubliki republica republique respubliky
ministry ministerstvo ministerstva ministerio ministere
department departament departamento dept
internal vnutrennikh vnutrennie
agency agentstvo agentstva agencia agence
eastern east vostochnaya vostochny vostochnyy vostok
western west zapadnaya zapadny zapadnyy zapad
northern north severnaya severny severnyy sever
southern south yuzhnaya yuzhny yuzhnyy yug
central tsentralnaya tsentralny tsentralnyy tsentralnoe
moscow moskva moskovskaya moskovskiy moskovsky moskovskoe moskovskii moskvy
russian russia rossiyskaya rossiyskiy rossiyskoe rossiysky rossiiskaya rossiiskii rossiiskoe rossiya rossii
korea korean choson chosun joson
iran iranian irani iraniyan
syria syrian suriya
china chinese zhongguo
european europe evropeyskiy evropeyskaya evropeiskii
baltic baltiyskiy baltiyskaya baltiysky baltiiskii
arctic arkticheskiy arkticheskaya arkticheskoe arktika arktik
siberia siberian sibirskaya sibirskiy sibirsky sibir
ural urals uralskiy uralskaya uralsky
committee komitet komiteta comite
government pravitelstvo pravitelstva govt
academy akademiya akademii academia
hotel gostinitsa
airport aeroport aeropuerto
airline airlines aviakompaniya avialinii aerolineas
fleet flot
river rechnoe rechnoy rechnaya
nuclear yadernyy yaderny yadernaya atomic atomnyy atomny atomnaya
gas gaz gazovaya gazovyy gazovy
coal ugol ugolnaya ugolnyy ugolnye
pipe pipes trubnyy trubny trubnaya truby
instrument instruments pribor pribory
radioelectronic radioelektronnye radioelektronnyy radioelectronics radioelektronika
concern kontsern konzern
combine kombinat combinat
house dom
polar polyarnyy polyarny polyarnaya
modern sovremennyy sovremennaya
tool tools instrumentalnyy instrumentalny instrumentalnaya
infrastructure infrastrukturnyy infrastrukturny infrastrukturnaya infrastruktura
stevedoring stividornaya stevedornaya stividornyy
geophysical geofizicheskiy geofizicheskaya geofizicheskikh geofizika
exploration razvedka razvedki
lottery lotereya loteriya lotariya
lithium litiy
social sotsialnyy sotsialnaya sotsialnoy
regional regionalnyy regionalny regionalnaya
information informatsionnyy informatsionny informatsionnaya informatsionnye informatsionno informacion
communications communication kommunikatsii svyaz telecommunications telecommunication telekommunikatsii telekom telecom
solutions solution resheniya resheniye
innovation innovations innovatsii innovatsionnyy innovatsionnaya innovative
security bezopasnost bezopasnosti seguridad
defense defence oborona oborony oboronnyy defensa
export exports eksport eksportnyy
import imports importnyy
alliance alyans alians
union soyuz
partners partner partnery
capital kapital
financial finance finansovaya finansovyy finansovoe finans finansy financiera
credit kredit kreditnyy credito
exchange birzha
sports sport sportivnyy
children childrens detskiy
education educational obrazovatelnoe obrazovatelny obrazovatelnyy
budgetary byudzhetnoe byudzhetny byudzhetnyy budget
autonomous avtonomnaya avtonomnoe avtonomny
experimental opytnyy opytny opytnoe eksperimentalnyy eksperimentalny
automation avtomatika avtomatiki avtomatizatsiya
testing test ispytatelnyy ispytatelny
helicopter helicopters vertolety vertoletnyy vertolet
missile missiles rocket rockets raketa raketnyy raketny raketno
artillery artilleriyskiy artilleriyskaya
ammunition boepripasy boepripasov
cartridge patronnyy patronny patron
optical optics optiko opticheskiy optika
television televidenie teleradio tv
specialized spetsializirovannyy spetsializirovannaya
eurasian evraziyskiy evraziyskaya evraziiskii
global globalnye globalnyy globalny globalnaya
digital tsifrovye tsifrovoy tsifrovaya tsifrovoi
expedition ekspeditsiya
geological geologicheskaya geologicheskiy
bearing bearings podshipnik podshipniki
engine engines motor motors dvigatel dvigateli dvigatelestroitelnaya
steel stal stali
titanium titan titana
`

// respelling is the group of a word.
type respelling struct {
	first string // the word that stands for the group
	group uint32 // its number, from 1
}

// respellingOf maps a word to its group.
var respellingOf = NewLexicon(parseRespellings(respellingSource))

// GroupOf returns the group of a word, or 0 if it has none.
func GroupOf(word []byte) uint32 {
	known, _ := respellingOf.LookUp(word)
	return known.group
}

func parseRespellings(source string) map[string]respelling {
	table, group := map[string]respelling{}, uint32(0)
	for line := range strings.Lines(source) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		group++
		for _, word := range fields {
			if _, known := table[word]; !known {
				table[word] = respelling{fields[0], group}
			}
		}
	}
	addNumbers(table, group)
	return table
}

// A misspelling of a spelling that the list does not use (SEREJ, for Sergej) is closer to
// that spelling than to the listed ones. So a word that is not listed is also compared with
// every spelling in the groups. One edit away from a spelling, it is close to the whole
// group.

// slipLettersMin is how many letters an unlisted word must have to be compared with the spellings
// in the groups.
const slipLettersMin = 5

// slipTable maps hashes to the spellings of the groups: the hash of each spelling's
// letters, and of those with one left out. Most lookups find nothing, and one bit of the
// filter shows that.
type slipTable struct {
	bits  [1 << (slipBits - 6)]uint64
	words map[uint64][]string
}

const slipBits = 17

var slips = fileSlips(respellingOf.words)

// Slip is a spelling in a group that is one edit away from a word.
type Slip struct {
	Word       string
	Similarity int32
}

// AppendSlips appends the spellings in the groups that are one edit away from a word,
// except the word itself. The hashes are those of its letters, whole and with one left out.
func AppendSlips(dst []Slip, hashes []uint64, word []byte) []Slip {
	if len(word) < slipLettersMin {
		return dst
	}
	for _, hash := range hashes {
		for _, known := range slips.wordsOf(hash) {
			cost := spellingCost([]byte(known), word, costEdit)
			if cost <= costEdit {
				dst = append(dst, Slip{known, ScoreOne - cost*(ScoreOne/100)/int32(max(len(known), len(word)))})
			}
		}
	}
	return dst
}

func (t *slipTable) wordsOf(hash uint64) []string {
	if bit := hash >> (64 - slipBits); t.bits[bit/64]>>(bit%64)&1 == 0 {
		return nil
	}
	return t.words[hash]
}

func fileSlips(groups map[string]respelling) *slipTable {
	table := &slipTable{words: map[uint64][]string{}}
	var hashes []uint64
	for _, word := range slices.Sorted(maps.Keys(groups)) {
		if len(word) < slipLettersMin {
			continue
		}
		hashes = append(hashes[:0], HashForm(HashLetters, []byte(word)))
		for _, hash := range AppendDeletionHashes(hashes, HashLetters, []byte(word)) {
			bit := hash >> (64 - slipBits)
			table.bits[bit/64] |= 1 << (bit % 64)
			table.words[hash] = append(table.words[hash], word)
		}
	}
	return table
}

// AreStrangers reports whether two words belong to different groups: ALEXEI is
// not a spelling of ALEXANDER however many letters they share.
func AreStrangers(groupA, groupB uint32) bool {
	return groupA != 0 && groupB != 0 && groupA != groupB
}
