//! Tags, words and user names of the site.

/// A tag, its weight, and its related tags, the most frequent first.
type Tag = (&'static str, u64, &'static [&'static str]);

/// The tags, the most frequent first.
pub(super) const TAGS: [Tag; 60] = [
    ("javascript", 110, &["jquery", "html", "css", "ajax", "arrays", "json"]),
    ("java", 105, &["android", "swing", "spring", "eclipse", "hibernate", "multithreading"]),
    ("c#", 95, &[".net", "asp.net", "winforms", "wpf", "linq", "entity-framework"]),
    ("php", 88, &["mysql", "html", "arrays", "javascript", "wordpress", "laravel"]),
    ("android", 84, &["java", "android-layout", "listview", "sqlite", "xml", "eclipse"]),
    ("jquery", 68, &["javascript", "html", "css", "ajax", "jquery-ui", "php"]),
    ("python", 66, &["django", "pandas", "numpy", "list", "python-3.x", "regex"]),
    ("html", 54, &["css", "javascript", "jquery", "html5", "php", "forms"]),
    ("c++", 44, &["c++11", "qt", "templates", "boost", "pointers", "c"]),
    ("ios", 42, &["objective-c", "iphone", "xcode", "swift", "uitableview", "ipad"]),
    ("mysql", 37, &["php", "sql", "database", "join", "select", "java"]),
    ("css", 36, &["html", "css3", "javascript", "jquery", "html5", "twitter-bootstrap"]),
    ("sql", 30, &["mysql", "sql-server", "oracle", "database", "join", "tsql"]),
    ("asp.net", 26, &["c#", "asp.net-mvc", "vb.net", "javascript", "sql-server", "iis"]),
    ("objective-c", 25, &["ios", "iphone", "xcode", "cocoa", "uitableview", "ipad"]),
    ("ruby-on-rails", 23, &["ruby", "activerecord", "ruby-on-rails-3", "rspec", "devise", "heroku"]),
    (".net", 21, &["c#", "wpf", "vb.net", "wcf", "winforms", "entity-framework"]),
    ("iphone", 20, &["ios", "objective-c", "xcode", "ipad", "cocoa-touch", "uitableview"]),
    ("c", 20, &["pointers", "arrays", "linux", "string", "gcc", "struct"]),
    ("angularjs", 18, &["javascript", "html", "json", "node.js", "jquery", "angularjs-directive"]),
    ("arrays", 17, &["javascript", "php", "java", "c", "string", "sorting"]),
    ("sql-server", 17, &["sql", "tsql", "c#", "sql-server-2008", "stored-procedures", "ssis"]),
    ("json", 16, &["javascript", "php", "jquery", "java", "ajax", "rest"]),
    ("ruby", 16, &["ruby-on-rails", "rubygems", "arrays", "hash", "regex", "sinatra"]),
    ("r", 14, &["ggplot2", "data.frame", "plot", "dplyr", "matrix", "shiny"]),
    ("ajax", 14, &["jquery", "javascript", "php", "json", "asp.net", "html"]),
    ("regex", 13, &["javascript", "php", "java", "python", "string", "perl"]),
    ("xml", 13, &["java", "xslt", "php", "c#", "xpath", "android"]),
    ("asp.net-mvc", 12, &["c#", "asp.net", "entity-framework", "razor", "jquery", "asp.net-mvc-4"]),
    ("node.js", 12, &["javascript", "express", "mongodb", "socket.io", "npm", "mongoose"]),
    ("linux", 12, &["bash", "shell", "c", "ubuntu", "apache", "security"]),
    ("wpf", 10, &["c#", "xaml", "mvvm", "binding", ".net", "datagrid"]),
    ("django", 10, &["python", "django-models", "django-forms", "django-templates", "django-admin", "html"]),
    ("database", 9, &["mysql", "sql", "java", "php", "database-design", "oracle"]),
    ("xcode", 8, &["ios", "objective-c", "iphone", "swift", "osx", "cocoa"]),
    ("swift", 9, &["ios", "xcode", "uitableview", "objective-c", "parse.com", "osx"]),
    ("excel", 8, &["vba", "excel-vba", "excel-formula", "csv", "ms-access", "office"]),
    ("vb.net", 8, &[".net", "asp.net", "winforms", "visual-studio", "sql", "string"]),
    ("eclipse", 7, &["java", "android", "eclipse-plugin", "maven", "tomcat", "svn"]),
    ("spring", 7, &["java", "spring-mvc", "hibernate", "maven", "jsp", "spring-security"]),
    ("windows", 7, &["batch-file", "c++", "cmd", "powershell", "c#", "winapi"]),
    ("html5", 7, &["css3", "javascript", "canvas", "video", "css", "jquery"]),
    ("wordpress", 7, &["php", "css", "jquery", "plugins", "html", "mysql"]),
    ("multithreading", 6, &["java", "c#", "c++", "python", "concurrency", "pthreads"]),
    ("git", 6, &["github", "version-control", "git-branch", "merge", "svn", "bash"]),
    ("facebook", 6, &["facebook-graph-api", "php", "javascript", "ios", "android", "oauth"]),
    ("oracle", 6, &["sql", "plsql", "java", "database", "oracle11g", "stored-procedures"]),
    ("bash", 6, &["shell", "linux", "sed", "awk", "grep", "unix"]),
    ("apache", 6, &[".htaccess", "php", "mod-rewrite", "linux", "url-rewriting", "tomcat"]),
    ("mongodb", 5, &["node.js", "mongoose", "nosql", "java", "aggregation-framework", "php"]),
    ("performance", 5, &["java", "sql", "optimization", "c++", "c#", "python"]),
    ("scala", 4, &["java", "sbt", "playframework", "akka", "functional-programming", "apache-spark"]),
    ("matlab", 4, &["matrix", "plot", "image-processing", "arrays", "matlab-figure", "vector"]),
    ("haskell", 3, &["functional-programming", "monads", "types", "recursion", "ghc", "typeclass"]),
    ("unit-testing", 3, &["java", "c#", "junit", "mocking", "tdd", "mockito"]),
    ("algorithm", 4, &["java", "c++", "data-structures", "sorting", "recursion", "math"]),
    ("image", 4, &["javascript", "css", "php", "html", "java", "android"]),
    ("perl", 3, &["regex", "hash", "arrays", "linux", "file", "cgi"]),
    ("google-maps", 3, &["javascript", "google-maps-api-3", "android", "jquery", "geolocation", "json"]),
    ("delphi", 2, &["delphi-xe2", "vcl", "firemonkey", "pascal", "winapi", "delphi-7"]),
];

/// Number of tags, counted from the first, that occur in the queries of the track `nested`.
pub(super) const WANTED: usize = 35;

/// Words with which the title of a question begins.
pub(super) const OPENINGS: [&str; 24] = [
    "How to",
    "How do I",
    "How can I",
    "What is",
    "What does",
    "Why is",
    "Why does",
    "Is it possible to",
    "Is there",
    "Best way to",
    "Error when",
    "Unable to",
    "Problem with",
    "Using",
    "Getting",
    "Can not",
    "Trying to",
    "When I",
    "Which",
    "Difference between",
    "Find",
    "Convert",
    "Changing",
    "Multiple",
];

/// Programming terms.
pub(super) const PROGRAMMING: &str = "code file data function value string class method object array list error table \
    server page button query user database key variable type field column row index loop script request response image \
    view form event element text input output name date time number integer column property attribute parameter \
    argument return call thread process memory pointer reference interface template library module package import \
    version build compile runtime exception stack trace debug log console browser client session cookie header body \
    link url path folder directory permission service api json xml parse format regex match replace split join sort \
    filter map reduce set get post update delete insert select where group order limit count sum max min random \
    screen window dialog menu tab cell row grid layout style color font width height margin padding border background \
    animation scroll click hover focus submit validate validation model controller route action framework plugin \
    dependency install config configuration settings environment production deployment test unit mock instance static \
    constructor inheritance abstract generic lambda callback promise async await socket connection port host proxy \
    cache redirect login password token authentication encryption hash encode decode upload download stream buffer \
    byte char boolean float double null undefined empty iterate recursive algorithm performance slow fast memory leak \
    crash freeze hang fails works tried solution example snippet tutorial documentation please help thanks advance \
    working wrong correct expected actual simple want like get make know find change add remove show hide load save";

/// Tokens of code, without characters that JSON would escape.
pub(super) const CODE: &str = "= ( ) ; { } . if else for return int var new this null i 0 1 + == != < > && || \
    true false void public private static class function() self def end foo bar baz temp result count items data \
    value key name id list[i] arr[0] obj.name x y n str len(x) size() get() set() add() toString() print echo import \
    from select where order by const let => -> :: // # */ /* String List<String> Map<String, Object> char* NULL std:: \
    <div> </div> <a href= class= id= style= $(this) .click( .each( .val() document.getElementById( console.log( try \
    catch throw while do break continue switch case default: std::vector<int> NSString UIView EditText findViewById( \
    SELECT FROM WHERE JOIN ON GROUP BY INSERT INTO VALUES UPDATE SET DELETE 'id' 'name' 'value' 'test' %s %d += -= ++";

/// First names.
pub(super) const GIVEN: [&str; 64] = [
    "Aaron", "Adam", "Ahmed", "Alex", "Amit", "Anders", "Andrea", "Andrew", "Anna", "Ben", "Brian", "Carlos",
    "Chris", "Dan", "Daniel", "David", "Dmitri", "Ed", "Elena", "Emma", "Eric", "Felix", "Frank", "George",
    "Greg", "Hans", "Igor", "Ivan", "Jack", "James", "Jan", "Jason", "Jeff", "Jim", "Joe", "John", "Jon",
    "Jose", "Julia", "Karl", "Kevin", "Lars", "Laura", "Luis", "Marc", "Maria", "Mark", "Martin", "Matt",
    "Michael", "Mike", "Nick", "Nikhil", "Oliver", "Paul", "Peter", "Rahul", "Robert", "Sam", "Sarah",
    "Steve", "Tom", "Trent", "Wei",
];

/// Family names.
pub(super) const FAMILY: [&str; 56] = [
    "Adams", "Allen", "Anderson", "Baker", "Becker", "Bell", "Brown", "Chen", "Clark", "Cole", "Cook",
    "Cooper", "Davis", "Evans", "Fischer", "Fox", "Garcia", "Gray", "Green", "Gupta", "Hall", "Harris",
    "Hill", "Hughes", "Ivanov", "Jackson", "Johnson", "Jones", "Kelly", "Khan", "King", "Kumar", "Lee",
    "Lewis", "Lopez", "Martin", "Meyer", "Miller", "Moore", "Morgan", "Nguyen", "Olsen", "Patel", "Reed",
    "Roberts", "Scott", "Sharma", "Silva", "Singh", "Smith", "Stone", "Taylor", "Turner", "Walker", "White",
    "Young",
];

/// First parts of invented user names.
pub(super) const HANDLES: [&str; 28] = [
    "user", "coder", "dev", "newbie", "ninja", "byte", "pixel", "stack", "null", "root", "kernel", "lambda",
    "cyber", "code", "hacker", "java", "mono", "neo", "night", "omega", "quark", "raven", "sky", "swift",
    "tech", "tux", "zed", "zero",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_tags_are_those_that_the_track_searches_for() {
        // The tags in the track's queries.csv.
        let asked = "java c# javascript php android jquery python html c++ ios mysql css sql asp.net objective-c \
            ruby-on-rails .net iphone c arrays sql-server angularjs ruby json ajax regex xml asp.net-mvc r linux wpf \
            django node.js database xcode";
        let mut asked: Vec<&str> = asked.split_whitespace().collect();
        let mut wanted: Vec<&str> = TAGS[..WANTED].iter().map(|tag| tag.0).collect();
        asked.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(wanted, asked);
    }

    #[test]
    fn code_needs_no_escaping() {
        assert!(CODE.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '));
        assert!(!CODE.contains(['"', '\\']));
    }
}
