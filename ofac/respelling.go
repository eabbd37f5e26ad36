package ofac

import "strings"

// respellings are words that are one and the same in different languages or
// romanisations and whose letters differ too much for the spelling fold to see
// it. One group a line; the first word stands for all. Sources: the common
// romanisations of Slavic, Arabic, Persian, Turkic, Korean and Chinese names,
// and the words companies' names are translated with.
const respellingSource = `
al el ul il ol
bin ben ibn bint bn
abu abou abo aboo abi ebu
abdal abdul abdel abdol abdoul abdu abdil abdull
abdallah abdullah abdulla abdollah abdellah abdoulaye abdulah
abdurrahman abdulrahman abdalrahman abdelrahman abdarrahman abdolrahman abdurahman abdirahman abdiraxman abdrahman abderrahman abderrahmane
abdulaziz abdalaziz abdelaziz abdolaziz
abdulkarim abdalkarim abdelkarim abdolkarim
abdulmalik abdelmalek abdalmalik abdolmalek
abdurrazzaq abdulrazzaq abdalrazzaq abdelrazak abderrazak
mohammad muhammad mohammed mohamed muhammed mohamad muhamad mohamet mehmet mehmed mahomed mohamud mohammod muhamed mukhammad magomed mahamat mahammad mamadou mohd
ahmad ahmed ahmet akhmed akhmad ahmadu achmad
mahmud mahmoud mahmood mehmood mahamud makhmud
husayn hussein husain hossein hussain huseyin husein hosein houssein hocine khusein hoseyn huseyn
hasan hassan hacene khasan hasen
yusuf yousef youssef yousuf yusif yosef yusef joseph josef iosif jusuf yousif yusup
ibrahim ebrahim ibraheem ibragim abraham brahim ibrahima avraam
ismail esmail ismael esmaeil ismaeel ismayil esmaeel ismaiil
omar umar omer oumar
osama usama ousama oussama
othman uthman osman usman ousmane utman
said saeed saied sayeed saiid sayid sa'id syed sayyid seyed sayed seyyed saed
khalid khaled halid xalid haled
sulayman suleiman soleiman suleyman sulaiman souleymane soliman sulejman suliman
qasim qasem kassem ghasem kasim qassem qassim kasem gasim kacem
jamal gamal djamel jamaal dzhamal cemal
jafar gafar djafar jaafar gaafar jafer dzhafar cafer
mustafa mostafa moustafa mustapha mustafo
mahdi mehdi mahdy
musa moussa mousa moses musah
isa issa eissa eisa
yahya yehya yahia yehia yakhya
yaqub yaqoob yaqoub yakub yacoub yakoub jacob yagoub
ayyub ayub ayoub ayyoub ayob
sharif sherif shareef cherif sheriff
tariq tarek tareq tarik
rashid rasheed rachid rashed
jawad javad djavad jawaad jaouad
walid waleed oualid
hamid hameed hamed
nasir naser nasser nasr nacer nasrallah
zaynab zeinab zainab zaynep zeynep
fatima fatemeh fatimah fatma fatmeh
maryam mariam miriam meryem
amir ameer emir
anwar anouar enver
mansur mansour mansoor mansoer
masud massoud masood masoud mesud
faysal faisal feisal faycal
ghulam gholam golam qolam
nur noor nour nureddin
rida reza riza ridha
mujahid mojahed mujaheed
mullah mulla molla mollah
haji hajji hadji hajj hadj haj alhaj alhaji hage
shaykh sheikh sheik shaikh cheikh shekh sheykh
aleksandr alexander oleksandr aliaksandr aleksander alexandre alexandr alaksandr alyaksandr aleksandar olexandr alejandro iskander
aleksandra alexandra oleksandra aliaksandra
aleksey alexei aleksei alexey oleksiy oleksii aliaksei alexis alyaksey aliaksey alexy
sergey sergei serhiy siarhei serguei sergiy serge serhii syarhei siarhey sergej sergii
dmitry dmitriy dmitri dmytro dzmitry dmitrii dimitri dimitry dzmitryi dmitrij
yevgeny evgeny evgeniy yevgeniy yevgeni evgeni yevhen yauhen eugene evgenii evgenij yauheni yevheniy yevhenii eugen
yevgeniya evgeniya yevgenia evgenia yevheniya
vladimir volodymyr uladzimir wladimir vladymyr uladzimer
vladislav uladzislau vladyslav wladyslaw
mikhail mykhailo mikhael michail michael mihail mykhaylo mikhaylo mihails miguel mikhal mikhalai
nikolay nikolai mykola mikalai nicolai mikola nikolaj nicholas nikolaos mikalay nicolas
andrey andrei andriy andrej andrii andrew andreas andre
yuri yury yuriy iouri yurii youri jurij iurii iuri yuriiy
viktor victor wiktor viktar
vasily vasiliy vasyl vasili vasilii vasil vassily vasilij wasyl
vyacheslav viacheslav vjaceslav vyachaslau viachaslau viatcheslav
igor ihor ihar
oleg oleh aleh
pavel pavlo paval paul pawel
petr pyotr petro piotr peter pjotr
stepan stsiapan stefan steven stephen
grigory grigoriy hryhoriy ryhor grigori gregory hryhorii grigorii
gennady gennadiy henadz hennadiy gennadi gennadii henadzi hienadz
anatoly anatoliy anatol anatoli anatolii anatolij
valery valeriy valeri valeryi valerii valerij
georgy georgiy georgi heorhiy george giorgi georgii yuryy jorge georgios
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
lukashenko lukashenka lukashenko
maria mariya mariia ma marya
jose j
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
international internatsional mezhdunarodnaya mezhdunarodny intl internacional internazionale internationale
industry industries industrial industria industrias promyshlennost
technology technologies technological tech tekhnologii tekhnologiya tecnologia tehnologii technologie tekhnolodzhi
institute institut institution instituto
engineering inzhiniring ingenieria engineers engg
trading trade torgovy torgovyy torgovlya trade
plant zavod factory works
research scientific nauchno science sciences issledovatelsky
production proizvodstvennoe proizvodstvenny proizvodstvennaya
association obedinenie obyedineniye ob'edinenie asociacion assotsiatsiya
enterprise predpriyatie predpriyatiye enterprises empresa
bureau byuro buro
design konstruktorskoe konstruktorskoye
shipping shippng
petroleum oil neft
bank banka bankasi banco banque
service services servis servicios
system systems sistemy sistemas sistema sistem
center centre tsentr centro tsentr centr
group grupp gruppa grup groupe grupo gruppe
holding holdings kholding
investment investments invest investitsii
development razvitie
limited limitd
transport transportation trans transports
logistics logistik logistika logistic
energy enero energo energetika energetic
electronics electronic elektronika elektronik
petrochemical petrochemicals neftekhim
machinery machine mashinostroitelny machines
general generalny genl
national natsionalny nacional natsionalnaya
foundation fond fund fundacion
organization organisation organizatsiya org
commercial kommercheskiy komercialny commerce
chemical chemicals khimichesky khim
metallurgical metallurgy metals metal
university universitet universidad
federation federatsiya
federal federalnoe federalny federalnaya
state gosudarstvennoe gosudarstvenny gosudarstvennaya gos
unitary unitarnoe
brothers bros
saint sankt st sveti
petersburg peterburg
october oktyabr oktiabr
leasing lizing
district rayon raion
new novy novaya novoe novyy
first 1st
second 2nd
third 3rd
shipbuilding sudostroitelny sudostroitelnyy
aircraft aviation aviatsionny aviatsionnyy aviatsionnaya
military voenny voennaya voyenny
special spetsialny spetsialnaya
construction stroitelny stroitelnaya stroitelnoe stroy
mining gornaya gorny gornyy
repair remontny remontnyy
management upravlyayushchaya upravleniye
insurance strakhovaya strakhovoy
space kosmicheskiy kosmicheskaya kosmos
marine maritime morskoy morskoe morskaya
mechanical mekhanicheskiy mekhanichesky
electrical elektro electric elektricheskiy
charitable charity blagotvoritelny kheiriyeh khairiah
islamic islami islamiya islamiyya islamiyah
`

// respelling is the group a word belongs to.
type respelling struct {
	first string // the word that stands for the group
	group uint32 // its number, from 1
}

// respellingOf maps a word to its group.
var respellingOf = parseRespellings(respellingSource)

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
	return table
}

// strangers reports whether two words belong to different groups: ALEXEI is
// not a spelling of ALEXANDER however many letters they share.
func strangers(groupA, groupB uint32) bool {
	return groupA != 0 && groupB != 0 && groupA != groupB
}
