import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.javarosa.core.model.CoreModelModule;
import org.javarosa.core.model.FormDef;
import org.javarosa.core.model.ValidateOutcome;
import org.javarosa.core.model.instance.InstanceInitializationFactory;
import org.javarosa.core.model.instance.TreeElement;
import org.javarosa.core.model.instance.TreeReference;
import org.javarosa.core.reference.PrefixedRootFactory;
import org.javarosa.core.reference.Reference;
import org.javarosa.core.reference.ReferenceManager;
import org.javarosa.core.reference.ResourceReference;
import org.javarosa.core.services.PrototypeManager;
import org.javarosa.core.util.JavaRosaCoreModule;
import org.javarosa.model.xform.XFormsModule;
import org.javarosa.xform.parse.XFormParser;
import org.javarosa.xform.util.XFormUtils;

/**
 * Reads submissions with JavaRosa, the engine of ODK Collect. Each argument is a folder with form.xml, its attachments and
 * submission.xml. Prints the path and value of every answer, and INVALID where an answer breaks a rule of the form.
 */
class ReadInstance {
  public static void main(String[] folders) {
    PrototypeManager.registerPrototypes(JavaRosaCoreModule.classNames);
    PrototypeManager.registerPrototypes(CoreModelModule.classNames);
    new XFormsModule().registerModule();
    for (String folder : folders) {
      System.out.println("FORM\t" + folder);
      try {
        read(Path.of(folder));
      } catch (Exception fault) {
        System.out.println("FAULT\t" + String.valueOf(fault).replace('\n', ' '));
      }
    }
  }

  static void read(Path folder) throws Exception {
    ReferenceManager.instance().reset();
    ReferenceManager.instance().addReferenceFactory(new Beside(folder));
    FormDef form = XFormUtils.getFormFromInputStream(new FileInputStream(folder.resolve("form.xml").toFile()));
    TreeElement saved = XFormParser.restoreDataModel(Files.readAllBytes(folder.resolve("submission.xml")), null).getRoot();
    // As Collect does with a form that is edited again.
    TreeElement root = form.getMainInstance().getRoot().deepCopy(true);
    root.populate(saved, form);
    form.getMainInstance().setRoot(root);
    form.initialize(false, new InstanceInitializationFactory());
    ValidateOutcome outcome = form.validate(false);
    if (outcome != null) System.out.println("INVALID\t" + outcome.failedPrompt.getReference());
    print("", form.getMainInstance().getRoot());
  }

  static void print(String path, TreeElement element) {
    if (!element.isRelevant() || element.getMult() == TreeReference.INDEX_TEMPLATE) return;
    String here = path + "/" + element.getName() + (element.isRepeatable() ? "[" + (element.getMult() + 1) + "]" : "");
    for (int i = 0; i < element.getNumChildren(); i++) print(here, element.getChildAt(i));
    if (element.getNumChildren() == 0 && element.getValue() != null)
      System.out.println(here + "\t" + element.getValue().uncast().getString());
  }

  /** Files beside the form. */
  static class Beside extends PrefixedRootFactory {
    final Path folder;

    Beside(Path folder) {
      super(new String[] {"file/", "file-csv/"});
      this.folder = folder;
    }

    protected Reference factory(String name, String uri) {
      return new ResourceReference(uri) {
        public InputStream getStream() throws IOException {
          return Files.newInputStream(folder.resolve(name));
        }

        public String getLocalURI() {
          return folder.resolve(name).toString();
        }
      };
    }
  }
}
