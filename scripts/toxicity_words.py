"""Kinds of words for `make_toxicity.py`, and groups of people.

Hate in plain words says a few things of a group of people: that they are bad, beasts, dirt or a danger, less than
others, that they should be hurt or leave. What is said of whom shows in the order of the kinds of words; the same words
in a denial, in a quotation or about a thing are no hate. The lists are general: no word is here for one case of a
labelled set.
"""

# Kinds by number, as in a model's file; 0 is any other word, 10 a quotation mark.
GROUP, PERSON, PEOPLE, WE, YOU, THEY, HE, NOT, SAY = range(1, 10)
BAD, POOR, GOOD, HURT, DIRT, SWEAR, SLUR, ALL, MUST, GO, IS, LIKE, HATE, COUNTER, LESS = range(11, 26)


def phrases(text: str) -> list[str]:
    """What stands between line feeds and "|"."""
    return [phrase.strip() for line in text.strip().splitlines() for phrase in line.split("|")]


# Groups that law and platforms protect: by sex, origin, colour, religion, disability, sexual orientation, status.
PLURAL = """
    women men girls females wives mothers lesbians gays homosexuals bisexuals transsexuals transgenders queers
    blacks africans whites asians latinos latinas hispanics arabs jews muslims christians catholics protestants
    hindus sikhs buddhists atheists mormons immigrants migrants refugees foreigners aliens gypsies roma indians
    pakistanis bangladeshis chinese japanese koreans vietnamese filipinos mexicans cubans puertoricans haitians
    nigerians somalis ethiopians kenyans egyptians moroccans algerians turks kurds iranians iraqis syrians
    afghans palestinians israelis saudis russians ukrainians poles romanians bulgarians albanians serbs greeks
    italians spaniards portuguese germans irish americans brazilians colombians natives aborigines cripples
    dwarfs amputees autistics
""".split()
PHRASES = phrases("""
    gay people|gay men|trans people|trans women|transgender people|black people|black men|black women
    brown people|white people|disabled people|blind people|deaf people|autistic people|mentally ill people
    old people|elderly people|muslim people|jewish people|asian people|arab people|indigenous people
    native americans|african americans|people with disabilities|people in wheelchairs|illegal immigrants
    asylum seekers|lesbian women|gay couples
""")
SINGULAR = phrases("""
    woman|girl|man|gay man|lesbian|homosexual|trans person|trans woman|transsexual|black person|black man|white
    person|asian|latino|arab|jew|muslim|christian|catholic|hindu|sikh|immigrant|migrant|refugee|foreigner
    disabled person|blind person|deaf person|autistic person|chinese person|mexican|indian|nigerian|turk|gypsy
    russian|pole
""")
ADJECTIVES = """
    female gay lesbian homosexual queer trans transgender transsexual bisexual black african white asian latino
    latina hispanic arab arabic jewish muslim islamic christian catholic hindu sikh immigrant foreign disabled
    blind deaf autistic crippled retarded handicapped mexican chinese indian pakistani turkish russian polish
    indigenous
""".split()
ALSO_GROUPS = """
    jew muslim immigrant migrant refugee foreigner lesbian homosexual woman wife girl girls lady ladies feminist
    feminists islam judaism lgbt lgbtq lgbtqi minorities minority ethnic ethnicity wheelchair wheelchairs
    disability disabilities transwomen transmen womens gypsy negro negroes mosque mosques synagogue synagogues
    quran koran race religion gender sexuality races religions jewish muslim
""".split()

# People whom no law protects as a group.
OTHERS = phrases("""
    bankers|lawyers|landlords|politicians|journalists|teachers|cops|managers|drivers|cyclists|tourists|actors
    gamers|vegans|smokers|developers|students|neighbours|salesmen|celebrities|doctors|capitalists|communists
    golfers|plumbers|athletes|referees|referee fans|influencers|accountants|critics|bosses|farmers|nurses
    singers
""")

WORDS = {
    PEOPLE: """
        people person persons human humans man men guys guy folks folk everyone everybody anyone anybody someone
        somebody child children kids kid life lives citizens citizen society community communities kind ones lot
        types type country nation world humanity mankind
    """,
    WE: "i me my mine myself im ive id we us our ours ourselves",
    YOU: "you your yours yourself yourselves u ur youre ya yall ye",
    THEY: "they them their theirs themselves theyre these those",
    HE: "he him his himself she her hers herself hes shes",
    NOT: """
        not no never none nobody nothing neither nor cannot cant dont doesnt isnt arent wasnt won wouldnt
        shouldnt don doesn didn isn aren wasn weren couldn shouldn wouldn hardly without t nowhere ain stop
    """,
    SAY: """
        say says said saying tell tells told call calls called calling word words term terms claim claims
        claimed claiming write writes wrote post posted tweet tweeted shout shouted yell yelled phrase statement
        comment comments believe heard hear slogan sign chant chanted sentence joke jokes meaning means refers
        describes describe
    """,
    ALL: "all every any each only most always typical nothing just both no-one whole entire many",
    MUST: """
        should must ought deserve deserves deserved need needs needed let lets want wants wish hope hopes wanna
        gonna shall will would gotta
    """,
    GO: """
        go leave deport deported deporting deportation back belong belongs return send sent ship shipped kick
        kicked banned ban remove removed home expel expelled keep kept out invade invading invaded invasion
        flood flooding infesting taking replace replacing replaced
    """,
    IS: "is are was were be been being am s re",
    LIKE: "like as than such",
    COUNTER: """
        racist racists racism sexist sexists sexism misogyny misogynist bigot bigots bigotry bigoted homophobic
        homophobia transphobic transphobia xenophobic xenophobia islamophobia islamophobic antisemitic
        antisemitism prejudice prejudiced discrimination hateful offensive unacceptable stereotype stereotypes
        stereotyping harassment intolerance intolerant wrong condemn condemned against ashamed shame insult
        insulting hurtful derogatory slur slurs
    """,
    HATE: """
        hate hates hated hating despise despises despised detest detests detested loathe loathes loathed abhor
        abhors dislike dislikes disgust disgusted disgusts sick tired resent contempt hatred repulsed repulse
        repulses fear fears scorn revulsion stand bear tolerate
    """,
    HURT: """
        kill kills killed killing murder murdered murdering shoot shot shooting hang hanged hung lynch lynched
        beat beaten beating stab stabbed stabbing rape raped raping burn burned burnt burning gas gassed drown
        drowned behead beheaded execute executed exterminate exterminated extermination eradicate eradicated
        wipe wiped destroy destroyed attack attacked hurt hit punch punched slap slapped kick smash smashed
        choke choked strangle strangled castrate castrated torture tortured maim maimed bomb bombed cleanse
        cleansed genocide slaughter slaughtered throat throats neck skull bleed suffer suffers die dies dead
        death eliminate eliminated sterilise sterilised sterilize sterilized whip whipped poison poisoned crush
        crushed punish punished bury buried cut
    """,
    DIRT: """
        vermin rat rats cockroach cockroaches roach roaches parasite parasites leech leeches insect insects
        maggot maggots animal animals beast beasts ape apes monkey monkeys pig pigs dog dogs swine snake snakes
        savage savages barbarian barbarians subhuman subhumans inhuman plague disease diseases cancer virus
        infection infestation pest pests locusts scum filth filthy trash garbage rubbish dirt dirty waste sewage
        sludge slime excrement dung turd turds poison toxic stain stains zoo cage cages kennel breed breeding
        breeds mongrel mongrels mutt mutts mud vomit puke tumour tumor demons demon devils devil satan evil
        monsters monster creatures creature freak freaks freakshow degenerate degenerates abomination
        abominations swarm swarms horde hordes
    """,
    LESS: """
        inferior lesser superior equal rights right civilised civilized uncivilised uncivilized civilisation
        civilization worth worthless useless vote educated intelligent smart clever dumber stupider weaker
        burden problem threat danger dangerous destroyers decline corrupt corrupting steal stealing lazy
        criminals criminal crime crimes terrorist terrorists thief thieves rapists rapist murderers murderer
        liars liar cheats greedy violent cruel pathetic primitive backward backwards unnatural perverted
        perverts pervert immoral sinful disgusting repulsive revolting gross nasty despicable disgraceful
        deceitful dishonest ignorant stupid dumb idiotic brainless retarded ugly smelly stink stinks hideous
        vile shame shameful mistake curse disgrace weak incompetent hysterical
    """,
}


def given_kinds() -> dict[str, int]:
    """The kind of each word of these lists; a word of two lists has the kind of the later one."""
    kinds = {word: PERSON for others in OTHERS for word in others.split()}
    kinds.update((word, kind) for kind, words in reversed(WORDS.items()) for word in words.split())
    people = set(WORDS[PEOPLE].split()) | {"old", "mentally", "people"}
    first = [phrase.split()[0] for phrase in (*PLURAL, *ADJECTIVES, *ALSO_GROUPS, *PHRASES, *SINGULAR)]
    kinds.update((word, GROUP) for word in first if word not in people)
    return kinds
