"""Made sentences for `make_toxicity.py`: hate of groups of people, and what looks like it and is none.

The phrases are general. They know what kinds of case there are (Röttger et al. 2021, HateCheck, arXiv:2012.15606, table
1), and are not its: none of the sentences made is one of its cases.
"""

import random
from collections.abc import Iterator, Sequence

from toxicity_words import ADJECTIVES, OTHERS, PHRASES, PLURAL, SINGULAR, phrases

THINGS = phrases("""
    mondays|this weather|the traffic|my job|this phone|homework|winter|the new layout|this song|airports
    mosquitoes|spiders|long queues|the dentist|cold coffee|this software|the commute|broccoli|wet socks|queueing
    cheap headphones|this|town|school|exams|the news|rain|ironing|paperwork|these shoes|this movie|olives
    commercials
""")
VERBS_AGAINST = phrases("""
    hate|despise|detest|loathe|abhor|cannot stand|can't bear|can't stomach|am disgusted by|am sick of
    am fed up with|feel only contempt for|have nothing but scorn for|want nothing to do with|resent
""")
BEING = phrases("""
    disgusting|filthy|stupid|evil|inferior|revolting|repulsive|worthless|dirty|dumb|lazy|greedy|dishonest
    violent|dangerous|vile|ugly|pathetic|primitive|savage|cruel|ignorant|corrupt|deceitful|brainless|despicable
    less than human|not human|mentally|sick|perverted|unnatural|a disgrace|a disease|a plague|a cancer
    a burden on society|a danger to us all|a waste of space|a waste of oxygen|the enemy|the problem|criminals
    thieves|liars|rapists|terrorists|parasites|vermin|animals|rats|cockroaches|pigs|apes|monkeys|dogs|filth|scum
    trash|garbage|subhuman|savages|freaks|degenerates|monsters|demons|worse than|animals|dumber than rocks
    all the same|nothing but trouble|human waste|mistakes of nature
""")
FATES = phrases("""
    be killed|die|be shot|be hanged|be deported|be locked up|be wiped out|be exterminated|be beaten|burn
    be put down|be|sterilised|rot in hell|suffer|be whipped|be gassed|drown|be thrown out
    be removed from society|be driven out|be put in|cages|disappear from the earth|be slapped
    be banned from schools|have no rights|never be allowed to vote|be hunted down|be executed|bleed
    be burned alive|get what is coming to them|be punished
""")
ACTS = phrases("""
    kill|shoot|murder|beat up|hang|stab|strangle|hurt|attack|burn|punch|run over|get rid of|wipe out|exterminate
    torture|spit on|slap|throw acid at|castrate
""")
PRAISED = phrases("""
    intelligent|clever|honest|civilised|trustworthy|reliable|brave|good people|normal|equal to us|real women
    fully human|decent|clean|loyal|worth listening to|capable of love|able to think|fit to lead|welcome
""")
OWED = phrases("""
    human rights|respect|the right to vote|freedom|our help|mercy|a seat at the table|pity|kindness|protection
    a place here|sympathy
""")
LESSER = phrases("""
    {g} are not {p}|{g} are never {p}|{g} will never be {p}|{g} can't ever be {p}|no {g1} is {p}
    {g} have never been {p}|{g} don't deserve {w}|{g} should have no {w}|i have no pity for {g}|no mercy for {g}
    i feel no sympathy for {g}|{g} do not deserve {w}|nobody should give {g} {w}|{w} should not be for {g}
    {g} can never be as good as us|so sick of {g}|so tired of all these {g}|disgusted by {g}|fed up with {g}
    {g} disgust me|{g} make my skin crawl|nothing is worse than a {g1}|{g} are the worst
    nothing but contempt for {g}|only hatred for {g}|can't stand {g} like you|god, i {v} {g}|we {v} {g} like you
    {g} like you make me vomit|no respect for {g}|{g} are repulsive to me|{g} belong in the kitchen, not at work
    {g} do not deserve human rights|{g} don't deserve to live|{g} will never be as clever as we are
    {g} can't be trusted|{g} are ruining this country|{g} are destroying our civilisation|{g} are taking over
    {g} should go back where they came from|go back to your country, {g}|send all {g} home|no {g} in our town
    keep {g} out of our schools|we don't want {g} here|we have too many {g} here|{g} steal our jobs
    {g} breed like rabbits|{g} only know how to steal|{g} make me sick|the world would be better without {g}
    {g} ruin everything|every {g1} is a liar|all {g1}s are thieves|my dog has more brains than a {g1}
    a {g1} is worth less than a dog|you are just a stupid {g1}|you dirty {a} animal|you filthy {a} rat
    shut your {a} mouth|your {a} kind is not welcome|typical {a} behaviour, so stupid|those {a} savages again
    never trust a {g1}|you can't expect anything from a {g1}|a {g1} has no place in our army
    nobody would miss {g} if they vanished|{g} have no soul|{g} are good for nothing|{g} are an insult to nature
    it is natural for {g} to lie|being {a} is a sickness|being {a} is a sin and a disease
    {g} should know their place|{g} ought to serve us|{g} infest our cities|{g} are invading us
    i would rather die than live near {g}
""")
HELPED = phrases("""
    help|support|thank|honour|respect|listen to|welcome|protect|celebrate|learn from|trust|hire|elect|befriend
    include|visit|teach|pay|understand|be grateful to|stand with|care about|be kind to|speak with|vote for
    work with|look after|invite
""")
KIND = phrases("""
    we should {y} {g}|we should all {y} {g}|you should {y} {g}|everyone must {y} {g}|let us {y} {g}
    i want to {y} {g}|we need to {y} {g}|i hope {g} win|{g} should be proud|{g} deserve to be heard
    {g} should get the same pay|{g} should all be welcomed|every {g1} deserves a fair chance
    we would all gain if {g} could vote|schools should {y} {g}|the government must {y} {g}
    i wish more people would {y} {g}|all {g} deserve to be happy|we owe a lot to {g}|{g} make me smile
    {g} ought to be treated fairly|{g} are wonderful|{g} are great|i respect {g}|we admire {g}
    {g} deserve respect|{g} deserve equal rights|{g} are welcome here|{g} make this city better
    {g} are just like everyone else|i am proud to be a {g1}|being {a} is nothing to be ashamed of
    my best friend is a {g1}|she is a {g1}|he married a {g1}|our doctor is a {g1}|there are many {g} in my class
    a group of {g} met at the library|do you know any {g}?|{g} are smart and brave
    {g} should be treated with respect|{g} should have the same rights|{g} should be free to live as they like
    we should support {g}|it is great to see {g} in science|i enjoy working with {g}
    the {a} community celebrated yesterday|{g} have a rich culture|my neighbours are {g}
    i have nothing against {g}|{g} worked here for years|a talented {a} artist|the {a} president spoke
    the museum shows the history of {g}|many {g} live in the city|the law protects {g}|two {g} won the prize
    {g} love music|{g} like football|some {g} voted, others did not|the survey asked {g} about work
    this film is about a {g1}|{g} were killed in the attack|{g} have been beaten by the police
    a {g1} was murdered yesterday|the book tells how {g} were deported and killed|{g} suffer from discrimination
    the war killed many {g}|{g} are in danger|{g} fear for their lives|police shot a {g1}
    {g} had to leave their homes|the {g} who were expelled returned
""")
DENIED = phrases("""
    i do not hate {g}|i don't hate {g} at all|nobody should hate {g}|{g} are not {b}|no {g1} is {b}
    it is not true that {g} are {b}|{g} should not {f}|no one should say that {g} are {b}
    i never said that {g} are {b}|we must not let anyone {k} {g}|stop saying that {g} are {b}
    {g} do not deserve to {f}|nobody deserves to {f}|i would never {k} {g}|there is no reason to hate {g}
    it's wrong to think that {g} are {b}|never did i claim that {g} are {b}|i am not saying that {g} are {b}
    i have no hatred for {g}|no contempt for {g} here|i feel no anger towards {g}|do not treat {g} like animals
    never treat {g} as if they were {b}|leaders who treat {g} like dirt must go
    the state treats {g} like criminals, and that is wrong|we reject anyone who calls {g} {b}
    i can't accept it when {g} are called {b}|i don't think {g} are {b}|not all {g} are {b}
    {g} are neither {b} nor {b}|there is nothing wrong with {g}|i don't mind {g}
    i would not want anyone to {k} {g}|{g} must not be treated like {b}|i never wanted {g} to {f}|don't {k} {g}
    we won't let {g} {f}|nobody i know would {k} {g}|i didn't say {g} should {f}
    i can't see why anyone would hate {g}
""")
QUOTED = phrases("""
    he lost his job for telling people that {h}|the court found that he had said {h}
    whoever thinks that {h} should read a history book|i can't believe you just said that {h}
    it hurts to hear people say {h}|claiming that {h} is a lie|the belief that {h} is nonsense
    don't say that {h}|the party was fined for its slogan that {h}
    my uncle keeps saying that {h}, and we argue every time|your hate for {g} says more about you
    such hatred of {g} must end|if you hate {g}, something is wrong with you|those who hate {g} will lose
    we protest against violence against {g}|the attacks on {g} have to stop
    nobody is allowed to call {g} {b} in this house|calling {g} {b} got him banned|she was insulted as a {i}
    i was called a {i} at school|never call anyone a {i}|being called a {i} hurts|the word {i} is a slur
    it is not okay to use the word {i}|some thug shouted {i} at us|he apologised for using the word {i}
    "{h}" is hate speech|saying "{h}" is racist|he was fired because he wrote "{h}"|how could anyone say "{h}"?
    whoever says that {h} is a bigot|it is hateful to say that {h}|the idea that {h} is a vile stereotype
    she was told "{h}" and it hurt her|"{h}" was sprayed on the wall, and the city condemned it
    people who think that {h} are wrong|don't you dare say "{h}" again|i was shocked when he said {h}
    the claim that {h} is false and offensive|stop telling people that {h}
    your post "{h}" is disgusting and was reported|nobody should have to hear "{h}"
    it's sickening that some believe {h}|you wrote "{h}", which is vile|a person who tweets "{h}" needs help
    "{h}"? what an awful thing to say|his speech, "{h}", was booed|they chanted "{h}" at her
    you are a bigot if you think that {h}|thinking that {h} is ignorant|it is disgusting that you hate {g}
    your hatred of {g} is disgusting|why do you hate {g} so much?
    you say you hate {g} and you call yourself a christian?|i am tired of people who hate {g}
    there is too much hatred against {g}|shame on you for saying that {h}
    people like you who {v} {g} are the problem|hating {g} is wrong|the way they talk about {g} is hateful
    he called {g} {b}, so i left|when you call {g} {b} you only show your own hate
    do you really think {g} are {b}? shame on you|no decent person says that {g} are {b}
    we must fight hate against {g}|jokes about {g} being {b} are not funny
    anyone who attacks {g} should be ashamed|stereotypes such as "{g} are {b}" do harm
""")
FRAMES = phrases("""
    {h}|{h}|{h}|{h}|{h}|{h}|i think {h}|in my opinion {h}|it is a fact that {h}|everyone knows that {h}
    let's be honest, {h}|isn't it obvious that {h}?|why does nobody say that {h}?|i'm not ashamed to say {h}
    am i the only one who thinks {h}?|{h}, period|trust me, {h}|i tried to be nice, but {h}
    the truth is that {h}|can we all agree that {h}?|when will people realise that {h}?|i really believe {h}
    {h}, it's in their nature|so true, {h}|don't tell me it's not true that {h}|who would deny that {h}?
    {h} and always will be|look at this. {h}
""")
NOT_MEANT = phrases("""
    i {v} {t}|i {v} {o}|{o} are {b}|{t} is the worst|{t} makes me sick|{o} should {f}|so sick of {t}
    i want to throw {t} out of the window|all {o} are liars|this {t} business kills me|i'd kill for a coffee
    i'm dying of laughter|my phone died again|that joke killed me|{o} ruin everything|we don't want {o} here
    that film was disgusting|the food was revolting|what a stupid machine|this code is garbage
    take out the trash|the rats in the barn are vermin|doctors found a cure for the disease
    cancer kills many people|the plague killed thousands of people
    wild animals belong in the forest, not in a zoo
""")
OWN = phrases("""
    my {i}s are the best|love my {i}s|me and my {i}s on the road|proud {i} here|we {i}s stick together
    happy birthday, my {i}|what's up, my {i}|this {i} just graduated|i am a {i} and i'm proud of it|miss my {i}s
    my {i} cooked dinner for all of us|one of my {i}s got the job
""")
SWORN = phrases("""
    {s} yes|what the {s} was that noise|this is so {s} good|i am so {s} happy today|{s}, i forgot my keys
    holy {s}, that goal was amazing|the {s} bus is late again|i can't find the {s} remote
    that was a {s} great concert|it's {s} cold outside|oh {s}, it's monday
""")
MILD_SWEAR = ["fucking", "fuck", "shit", "damn", "hell", "bloody", "goddamn", "freaking", "crap"]
INSULTS = phrases("""
    you {i}|too many {i}s around here|shut up, {i}|you are nothing but a {i}|what a {i}|all {i}s out
    go home, {i}s
""")
ABUSED = phrases("""
    fuck {g}|{g} can go to hell|{g} are pieces of shit|fucking {g}|{g} are assholes|screw those {g}
    {g} are such bitches|damn {g}|you fucking {g1}|{g} fuck everything up|shut up you {a} bitch
    {g} are full of shit
""")


def made(number: int, insults: Sequence[str], seed: int = 7) -> Iterator[tuple[str, bool]]:
    """Sentences and whether they are hateful; insults are nouns, which only quotations have."""
    chance = random.Random(seed)
    pick = chance.choice
    for _ in range(number):
        group = pick(PHRASES) if chance.random() < 0.4 else pick(PLURAL)
        plural = pick(["", "", "", "these ", "those ", "all ", "you ", "most ", "all those "]) + group
        parts = {
            "g": plural, "g1": pick(SINGULAR), "a": pick(ADJECTIVES), "b": pick(BEING), "f": pick(FATES),
            "k": pick(ACTS), "v": pick(VERBS_AGAINST), "t": pick(THINGS), "o": pick(OTHERS), "s": pick(MILD_SWEAR),
            "y": pick(HELPED), "i": pick(insults), "p": pick(PRAISED), "w": pick(OWED),
        }  # fmt: skip
        hate = pick([
            "i {v} {g}", "i {v} every {g1}", "{g} are {b}", "{g} are {b}", "you {g} are {b}", "a {g1} is always {b}",
            "{g} should {f}", "{g} deserve to {f}", "i want to {k} {g}", "someone should {k} {g}", "let's {k} {g}",
            "i hope {g} {f}", "i will {k} you, you {a} pig", "every {g1} should {f}", "we should {k} all {g}",
            "i wish {g} would {f}", "you {a} people are {b}", "i'm going to {k} that {g1}",
            *(pick(LESSER) for _ in range(20)),
        ])  # fmt: skip
        hate = hate.format(**parts)
        roll = chance.random()
        if roll < 0.38:
            text, bad = pick(FRAMES).format(h=hate, **parts), True
        elif roll < 0.42:
            text, bad = pick(ABUSED).format(**parts), True
        elif roll < 0.54:
            text, bad = pick(KIND).format(**parts), False
        elif roll < 0.65:
            text, bad = pick(DENIED).format(**parts), False
        elif roll < 0.86:
            said = pick([hate, hate, pick(ABUSED).format(**parts), pick(INSULTS).format(**parts)])
            text, bad = pick(QUOTED).format(h=said, **parts), False
        elif roll < 0.95:
            text, bad = pick(NOT_MEANT).format(**parts), False
        elif roll < 0.98:
            text, bad = pick(OWN).format(**parts), False
        else:
            text, bad = pick(SWORN).format(**parts), False
        yield text[:1].upper() + text[1:] + pick([".", ".", "", "!"]), bad
