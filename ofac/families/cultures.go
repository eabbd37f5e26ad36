package families

// culture is a table of frequent names. The tables were written from common knowledge: they are
// the names that the published statistics of births, registers and telephone books of each
// country put first, without their counts and in no order that means anything. None is copied
// from a data set.
type culture struct {
	name, title   string
	familyFirst   bool
	given, family string
}

var cultures = []culture{
	{"english", "English", false, "James Mary John Patricia Robert Jennifer Michael Linda William Elizabeth David Susan Thomas Jessica Charles Sarah", "Smith Johnson Williams Brown Jones Miller Davis Wilson Taylor Anderson Moore Clark Walker Wright Green Hall"},
	{"spanish", "Spanish", false, "Antonio Maria Jose Carmen Manuel Ana Francisco Isabel Juan Laura Pedro Lucia Luis Elena Carlos Marta", "Garcia Rodriguez Gonzalez Fernandez Lopez Martinez Sanchez Perez Gomez Martin Jimenez Ruiz Hernandez Diaz Moreno Alvarez"},
	{"mexican", "Mexican, with two family names", false, "Jose_Luis Maria_Guadalupe Juan_Carlos Alejandra Miguel_Angel Veronica Fernando Gabriela Jorge Leticia Roberto Rosa", "Hernandez_Garcia Martinez_Lopez Gonzalez_Perez Ramirez_Sanchez Flores_Torres Rivera_Gomez Cruz_Morales Ortiz_Reyes Gutierrez_Ruiz Mendoza_Castillo Vargas_Romero Ramos_Herrera"},
	{"portuguese", "Portuguese and Brazilian", false, "Maria Jose Ana Joao Antonio Francisco Carlos Paulo Pedro Lucas Luiz Marcos Fernanda Juliana Adriana Marcia", "Silva Santos Oliveira Souza Rodrigues Ferreira Alves Pereira Lima Gomes Costa Ribeiro Martins Carvalho Almeida Lopes"},
	{"french", "French", false, "Jean Marie Pierre Nathalie Michel Isabelle Philippe Sylvie Alain Catherine Nicolas Sophie Christophe Julie Laurent Camille", "Martin Bernard Dubois Thomas Robert Richard Petit Durand Leroy Moreau Simon Laurent Lefebvre Michel Garcia Roux"},
	{"german", "German", false, "Peter Ursula Michael Monika Thomas Petra Andreas Sabine Wolfgang Renate Klaus Karin Stefan Anna Christian Julia", "Mueller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Koch Bauer Richter Klein Wolf Neumann"},
	{"italian", "Italian", false, "Giuseppe Maria Giovanni Anna Antonio Rosa Mario Angela Luigi Giovanna Francesco Teresa Roberto Lucia Marco Paola", "Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Bruno Gallo Conti Costa Giordano Mancini"},
	{"polish", "Polish", false, "Jan Anna Andrzej Maria Piotr Katarzyna Krzysztof Malgorzata Stanislaw Agnieszka Tomasz Barbara Pawel Ewa Marcin Magdalena", "Nowak Kowalski Wisniewski Wojcik Kowalczyk Kaminski Lewandowski Zielinski Szymanski Wozniak Dabrowski Kozlowski Jankowski Mazur Krawczyk Piotrowski"},
	{"russian", "Russian", false, "Alexander Elena Sergey Olga Dmitry Natalia Andrey Tatiana Alexey Irina Vladimir Svetlana Mikhail Marina Ivan Anna", "Ivanov Smirnov Kuznetsov Popov Vasiliev Petrov Sokolov Mikhailov Novikov Fedorov Morozov Volkov Alekseev Lebedev Semenov Egorov"},
	{"ukrainian", "Ukrainian", false, "Oleksandr Olena Serhii Oksana Andrii Iryna Volodymyr Nataliia Mykola Tetiana Ivan Halyna Vasyl Svitlana Yurii Liudmyla", "Melnyk Shevchenko Boiko Kovalenko Bondarenko Tkachenko Kovalchuk Kravchenko Oliinyk Shevchuk Koval Polishchuk Bondar Tkachuk Moroz Lysenko"},
	{"turkish", "Turkish", false, "Mehmet Fatma Mustafa Ayse Ahmet Emine Ali Hatice Huseyin Zeynep Hasan Elif Ibrahim Meryem Osman Serife", "Yilmaz Kaya Demir Sahin Celik Yildiz Yildirim Ozturk Aydin Ozdemir Arslan Dogan Kilic Aslan Cetin Kara"},
	{"arabic", "Arabic", false, "Mohammed Fatima Ahmed Aisha Ali Maryam Omar Khadija Youssef Zainab Khaled Noor Mahmoud Layla Hassan Salma", "Al-Harbi Haddad Mansour Khoury Al-Ghamdi Saleh El-Sayed Nasser Al-Otaibi Hamdan Darwish Shaheen Al-Qahtani Fathi Aziz Ramadan"},
	{"persian", "Persian", false, "Mohammad Zahra Ali Fatemeh Reza Maryam Hossein Sara Mehdi Narges Amir Leila Hamid Parisa Saeed Shirin", "Mohammadi Hosseini Ahmadi Rezaei Karimi Moradi Jafari Rahimi Hashemi Ebrahimi Sadeghi Rostami Heidari Mousavi Akbari Nazari"},
	{"indian", "Indian", false, "Rahul Priya Amit Anita Sanjay Sunita Rajesh Pooja Suresh Lakshmi Vijay Deepa Arun Kavita Ramesh Neha", "Sharma Kumar Singh Patel Gupta Reddy Iyer Nair Verma Das Mehta Joshi Rao Mishra Chopra Desai"},
	{"pakistani", "Pakistani and Bengali", false, "Muhammad Ayesha Imran Sana Bilal Hina Usman Nadia Asif Farah Tariq Rabia Kamran Saima Faisal Mariam", "Khan Malik Butt Chaudhry Qureshi Sheikh Mirza Siddiqui Hussain Rahman Islam Hossain Akhtar Begum Chowdhury Awan"},
	{"chinese", "Chinese", true, "Wei Fang Na Min Jing Qiang Lei Jun Yang Yong Juan Jie Tao Ming Xiaoming Jianguo Xiuying Guiying", "Wang Li Zhang Liu Chen Yang Huang Zhao Wu Zhou Xu Sun Ma Zhu Hu Guo"},
	{"korean", "Korean", true, "Min-jun Seo-yeon Ji-hoon Ji-woo Hyun-woo Soo-jin Dong-hyun Eun-ji Sung-min Hye-jin Young-ho Mi-kyung Jae-hyun Yu-na Sang-hoon Na-young", "Kim Lee Park Choi Jung Kang Cho Yoon Jang Lim Han Oh Seo Shin Kwon Hwang"},
	{"japanese", "Japanese", false, "Hiroshi Yoko Takashi Keiko Kenji Sachiko Makoto Yumi Akira Naomi Satoshi Mika Daisuke Haruka Kazuo Aiko", "Sato Suzuki Takahashi Tanaka Watanabe Ito Yamamoto Nakamura Kobayashi Kato Yoshida Yamada Sasaki Matsumoto Inoue Kimura"},
	{"vietnamese", "Vietnamese", true, "Van_Hung Thi_Lan Minh_Tuan Thi_Hoa Duc_Anh Thi_Mai Quang_Huy Thu_Ha Van_Nam Ngoc_Anh Thanh_Tung Thi_Huong Hoang_Long Kim_Anh Quoc_Bao Phuong_Thao", "Nguyen Tran Le Pham Hoang Phan Vu Dang Bui Do Ho Ngo Duong Ly Dinh Truong"},
	{"african", "West and East African", false, "Chinedu Ngozi Emeka Amina Kwame Abena Kofi Akosua Tunde Folake Ibrahim Fatou Mamadou Aminata Wanjiru Otieno", "Okafor Adeyemi Okonkwo Mensah Owusu Boateng Diallo Traore Keita Ndiaye Mwangi Kamau Odhiambo Abubakar Bello Eze"},
	{"nordic", "Nordic", false, "Lars Anna Erik Maria Anders Karin Per Ingrid Johan Kristina Mikael Eva Henrik Sofia Jens Mette", "Andersson Johansson Karlsson Nilsson Hansen Larsen Olsen Pedersen Nielsen Jensen Virtanen Korhonen Lindberg Berg Lund Eriksson"},
}

// companyWords and trades make names of ordinary companies.
const (
	companyWords = "Maple Harbour Bluebird Northgate Silverstone Lakeside Evergreen Sunrise Redwood Meridian Cornerstone Brightwater Foxglove Oakfield Summit Riverbend Kestrel Pinecrest Granite Willow Orchard Juniper Beacon Clearview Stonebridge Heather Magnolia Sparrow Copper Hazel Amber Cobalt Ivory Falcon Pioneer Atlantic Pacific Alpine Golden_Gate Green_Valley"
	trades       = "Bakery Dental_Practice Plumbing_Ltd Coffee_Roasters Software_GmbH Logistics_LLC Garden_Centre Furniture Yoga_Studio Accountants Veterinary_Clinic Bicycles Insurance_Brokers Travel Printing_Co Trading_Ltd Capital_Partners Engineering_Inc"
)

const places = `
Paris
London
New York
Berlin
Madrid
Rome
Vienna
Prague
Warsaw
Budapest
Lisbon
Stockholm
Oslo
Copenhagen
Helsinki
Dublin
Brussels
Amsterdam
Zurich
Athens
Istanbul
Cairo
Nairobi
Lagos
Johannesburg
Cape Town
Mumbai
New Delhi
Bangalore
Bangkok
Singapore
Hong Kong
Tokyo
Osaka
Seoul
Manila
Jakarta
Sydney
Melbourne
Auckland
Toronto
Vancouver
Mexico City
Bogota
Lima
Buenos Aires
Santiago de Chile
Rio de Janeiro
Sao Paulo
Los Angeles
San Francisco
Chicago
Boston
Saint Petersburg, Florida
Moscow, Idaho
Paris, Texas
Aleppo Pine Road
Palestine, Texas
Lebanon, New Hampshire
Odessa, Texas
Santa Cruz de la Sierra
Port-au-Prince
Dar es Salaam
Ho Chi Minh City
Kuala Lumpur
Abu Dhabi
Casablanca
Tunis
Amman
Riyadh
Jeddah
Doha
Muscat
Karachi
Lahore
Dhaka
Colombo
Kathmandu
Almaty
Tashkent
Tbilisi
Yerevan
Baku
Vilnius
Riga
Tallinn
Bratislava
Ljubljana
Zagreb
Bucharest
Sofia`

const products = `
wireless headphones
running shoes size 42
organic olive oil 5 l
laptop stand aluminium
cuban cigars order
persian carpet 2x3 m
russian salad, catering
turkish coffee set
lebanese dinner for two
gift card 50 euro
monthly gym membership
annual software licence
cloud hosting March
office chairs, ten pieces
printer toner black
bicycle repair
piano lessons
wedding photography
translation of a contract
legal advice, two hours
dental cleaning
car insurance premium
train ticket Hamburg to Munich
hotel in Lisbon, three nights
concert tickets
garden tools
baby stroller
cat food 10 kg
used books
antique clock
diamond ring
gold coins
solar panels
heat pump installation
electric scooter
drone with camera
graphics card
mechanical keyboard
coffee beans from Ethiopia
tea from Ceylon
spices from Iran street market
Syrian sweets
Venezuelan arepas
Bavarian beer
Swiss watch repair
Damascus steel knife
Panama hat
Crimea tatar cookbook
steel pipes DN 50
marine diesel engine parts
container freight to Rotterdam
crude oil market report
wheat, 20 tonnes
fertiliser, 5 bags
mining helmet
bitcoin hardware wallet
english course
yoga class
flower bouquet
birthday cake`

const innocentTexts = `
rent for April
salary March 2026
thanks for dinner
invoice 20260317 second reminder
refund of order 88213
school fees second term
happy birthday from all of us
loan repayment, part 3 of 12
for mum
monthly donation to the animal shelter
share of the electricity bill
pocket money
deposit for the apartment in Main Street
my half of the hotel
for the trip to Greece
consulting fee according to contract of 4 May
dividend of the second quarter
payment of royalties
tuition of the summer school
subscription renewal
union dues
membership of the sports club
football tickets for Saturday
Christmas gifts for the children
medical treatment of my father
bus tickets and museum
purchase of a used car from a private seller
payment for painting the house
reimbursement of travel costs
advance for materials
insurance claim 4711
maintenance of the lift
annual audit fee
catering for the conference
translation services in Arabic
legal fees in the matter of the estate
freight from Shanghai to Hamburg
customs duty of shipment 77
lease of the vessel berth
spare parts of the aircraft hangar door
charity run sponsorship
gift from grandmother
coffee and cake
return of the deposit
shared taxi to the airport
book club money
thank you for the music
wedding present for the couple
payment to the plumber
fees of the notary`
